// The list of all operations. The router, the OpenAPI document and the tests over every operation read it.
import { tokenOperations } from './access/token.api.ts';
import type { Tokens } from './access/tokens.ts';
import type { Users } from './access/users.ts';
import type { ClickTracking } from './conversions/click-tracking.ts';
import { trackOperations } from './conversions/track.api.ts';
import { domainOperations } from './domains/domain.api.ts';
import type { Domains } from './domains/domains.ts';
import { fileOperations } from './files/file.api.ts';
import type { Files } from './files/files.ts';
import { folderOperations } from './folders/folder.api.ts';
import type { Folders } from './folders/folders.ts';
import type { Operation } from './http/operation.ts';
import type { Clock } from './kernel/clock.ts';
import type { GuardedFetch } from './kernel/guarded-fetch.ts';
import { linkOperations } from './links/link.api.ts';
import { linkHelperOperations } from './links/link-helpers.api.ts';
import type { LinkLists } from './links/link-lists.ts';
import type { Links } from './links/links.ts';
import type { TestEnd } from './links/test-end.ts';
import { qrOperations } from './qr/qr.api.ts';
import type { QrCodes } from './qr/qr-codes.ts';
import { tagOperations } from './tags/tag.api.ts';
import type { Tags } from './tags/tags.ts';
import { workspaceOperations } from './workspaces/workspace.api.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

export interface Services {
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly users: Users;
  readonly workspaces: Workspaces;
  readonly files: Files;
  readonly domains: Domains;
  readonly tags: Tags;
  readonly folders: Folders;
  readonly links: Links;
  readonly linkLists: LinkLists;
  readonly linkSearch: { index(signal: AbortSignal): Promise<void> };
  readonly testEnd: TestEnd;
  readonly qrCodes: QrCodes;
  readonly clickTracking: ClickTracking;
  readonly guardedFetch: GuardedFetch;
}

export function allOperations(services: Services): Operation[] {
  return [
    // Before the operations that take any id in the same place.
    ...linkHelperOperations(services),
    ...linkOperations(services),
    ...qrOperations(services),
    ...trackOperations(services),
    ...tagOperations(services),
    ...folderOperations(services),
    ...domainOperations(services),
    ...fileOperations(services),
    ...workspaceOperations(services),
    ...tokenOperations(services),
  ];
}
