// Dumps for tests: written and read in process, and records of every type with every field.

import type { App } from '../app.ts';
import { openDump } from '../dump/dump-source.ts';
import type { ImportReport, ImportRequest } from '../dump/import.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { partnerRecords } from './partner-dumps.ts';

export type Line = Readonly<Record<string, unknown>>;

export const HEADER: Line = {
  type: 'linktrail',
  version: 1,
  id: 'dump_test',
  createdAt: '2027-01-15T10:00:00.000Z',
};

const forever = new AbortController().signal;

/** The dump as text. */
export async function exportText({ dump }: App, workspaceId?: string): Promise<string> {
  let text = '';
  await dump.export({
    scope: { workspaceId },
    signal: forever,
    progress: async () => {},
    write: async (more) => {
      text += more;
    },
  });
  return text;
}

export async function importText(
  { dump }: App,
  text: string | Uint8Array,
  options: Partial<Omit<ImportRequest, 'source'>> = {},
): Promise<ImportReport> {
  const source = await openDump(chunks(Buffer.from(text)));
  return dump.import({ source, signal: forever, progress: async () => {}, ...options });
}

/** In pieces that end anywhere, as they come from a socket. */
async function* chunks(bytes: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

export function toDump(lines: readonly Line[], { header = HEADER, end = true } = {}): string {
  return [header, ...lines, ...(end ? [{ type: 'end' }] : [])]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

export function parseDump(text: string): Line[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(40, 7)]);
export const FILE_NAME = `${sha256Hex(PNG)}.png`;
const times = { createdAt: '2024-02-03T04:05:06.007Z', updatedAt: '2024-03-04T05:06:07.008Z' };

/** One record of each type, with every field set and ids as other services have them, in the order of exports. */
export function fullRecords(workspaceId = 'clx1workspace', tag = ''): Line[] {
  const id = (text: string) => `${text}${tag}`;
  return [
    { type: 'file', name: FILE_NAME, content: PNG.toString('base64') },
    {
      type: 'user',
      id: id('clu1'),
      name: 'Ada',
      email: id('ada@example.com'),
      image: `file:${FILE_NAME}`,
      isMachine: false,
      ...times,
    },
    {
      type: 'workspace',
      id: workspaceId,
      name: 'Acme',
      slug: id('acme'),
      logo: `file:${FILE_NAME}`,
      plan: 'business',
      defaultProduct: 'program',
      defaultProgramId: 'prog_1',
      inviteCode: id('invite'),
      publishableKey: id('dub_pk_abcdefghijklmnop'),
      conversionEnabled: true,
      webhookEnabled: true,
      allowedHostnames: ['example.com'],
      limits: { links: 5 },
      ipPrivacy: 'truncate',
      attribution: 'first_click',
      attributionDays: 30,
      eventsUsage: 3,
      linksUsage: 4,
      usageMonth: 24_300,
      payoutsUsage: 5,
      totalClicks: 6,
      ...times,
    },
    {
      type: 'domain',
      id: id('cld1'),
      workspaceId,
      slug: id('go.example.com'),
      primary: true,
      verified: true,
      verificationCode: 'code',
      archived: false,
      caseSensitive: true,
      placeholder: 'https://example.com/p',
      expiredUrl: 'https://example.com/e',
      notFoundUrl: 'https://example.com/n',
      logo: `file:${FILE_NAME}`,
      assetLinks: '[]',
      appleAppSiteAssociation: '{}',
      deepviewData: '{"a":1}',
      ...times,
    },
    {
      type: 'folder',
      id: id('fold_1'),
      workspaceId,
      name: 'Spring',
      description: 'Sale',
      kind: 'mega',
      accessLevel: 'write',
      ...times,
    },
    { type: 'tag', id: id('cltag1'), workspaceId, name: 'News', color: 'blue', ...times },
    { type: 'tag', id: id('cltag2'), workspaceId, name: 'Old', color: 'red', ...times },
    {
      type: 'member',
      userId: id('clu1'),
      workspaceId,
      role: 'owner',
      defaultFolderId: id('fold_1'),
      ...times,
    },
    {
      type: 'key',
      id: id('tok1'),
      workspaceId,
      userId: id('clu1'),
      name: 'Main',
      hashedKey: sha256Hex(id('any form of key')),
      partialKey: 'any...key',
      scopes: ['links.read', 'from.elsewhere'],
      expiresAt: '2099-01-01T00:00:00.000Z',
      lastUsedAt: '2024-05-01T00:00:00.000Z',
      ...times,
    },
    { type: 'folderRole', folderId: id('fold_1'), userId: id('clu1'), role: 'editor', ...times },
    {
      type: 'link',
      id: id('cllink1'),
      workspaceId,
      domain: id('go.example.com'),
      key: 'Spring',
      url: 'https://example.com/É?utm_source=x',
      tagIds: [id('cltag2'), id('cltag1')],
      externalId: '42',
      tenantId: 't1',
      programId: 'prog_1',
      partnerId: 'pn_1',
      folderId: id('fold_1'),
      userId: id('clu1'),
      trackConversion: true,
      archived: true,
      proxy: true,
      rewrite: true,
      doIndex: true,
      publicStats: true,
      expiresAt: '2030-01-01T00:00:00.000Z',
      expiredUrl: 'https://example.com/x',
      disabledAt: '2025-01-01T00:00:00.000Z',
      bannedAt: '2025-01-02T00:00:00.000Z',
      password: 'secret',
      title: 'Title',
      description: 'Text',
      image: `file:${FILE_NAME}`,
      video: 'https://example.com/v.mp4',
      ios: 'myapp://x',
      android: 'https://example.com/a',
      geo: { DE: 'https://example.com/de' },
      comments: 'Line\nbreak',
      utm_source: 'a',
      utm_medium: 'b',
      utm_campaign: 'c',
      utm_term: 'd',
      utm_content: 'e',
      testVariants: [
        { url: 'https://example.com/1', percentage: 50 },
        { url: 'https://example.com/2', percentage: 50 },
      ],
      testStartedAt: '2024-01-01T00:00:00.000Z',
      testCompletedAt: '2024-01-09T00:00:00.000Z',
      testEndedAt: '2024-01-09T00:00:01.000Z',
      clicks: 10,
      leads: 9,
      conversions: 8,
      sales: 7,
      saleAmount: 600,
      lastClicked: '2024-06-01T00:00:00.000Z',
      ...times,
    },
    {
      type: 'webhook',
      id: id('wh_1'),
      workspaceId,
      name: 'Orders',
      url: 'https://example.com/hook',
      secret: 'whsec_0123456789abcdef0123456789abcdef',
      previousSecret: 'whsec_fedcba9876543210fedcba9876543210',
      previousSecretUntil: '2024-07-01T00:00:00.000Z',
      triggers: ['link.clicked', 'sale.created'],
      linkScope: 'links',
      installationId: 'inst_1',
      disabledAt: '2024-06-01T00:00:00.000Z',
      disabledReason: 'failures',
      consecutiveFailures: 20,
      lastSuccessAt: '2024-05-01T00:00:00.000Z',
      lastFailureAt: '2024-06-01T00:00:00.000Z',
      ...times,
    },
    { type: 'webhookLink', webhookId: id('wh_1'), linkId: id('cllink1'), createdAt: times.createdAt },
    { type: 'webhookFolder', webhookId: id('wh_1'), folderId: id('fold_1'), createdAt: times.createdAt },
    ...partnerRecords({ workspaceId, id, logo: `file:${FILE_NAME}` }),
  ];
}
