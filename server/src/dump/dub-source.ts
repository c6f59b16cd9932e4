// Another service with the same API as a source of records: its tags, folders, domains, links and customers, page
// by page through the npm client `dub`. It waits when it is told to, and after an interruption goes on with the
// page of links or customers it had come to. What is made there while it reads may be missed: a repeat brings it.
import { Dub } from 'dub';
import type { DomainSchema, FolderSchema, LinkSchema } from 'dub/models/components';
import {
  DubError,
  Forbidden,
  HTTPClientError,
  RateLimitExceeded,
  UnprocessableEntity,
} from 'dub/models/errors';
import type { GetCustomersResponseBody as Customer } from 'dub/models/operations';
import { z } from 'zod';
import { displayName } from '../customers/customer.ts';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import type { Batch, InputLine, Source } from './import.ts';

export interface DubSourceParts {
  readonly token: string;
  /** The address of the API, with its path; the client's own if absent. */
  readonly server: string | undefined;
  /** The workspace here that everything goes into. */
  readonly workspaceId: string;
  /** The workspace has a primary domain, which stays the primary one. */
  readonly hasPrimaryDomain: boolean;
  /** Waits as long as the other service asks for; ends early when the import is stopped. */
  readonly wait: (seconds: number) => Promise<void>;
}

const PAGE_SIZE = 100;
const UNSORTED = 'unsorted';
const DEFAULT_WAIT_SECONDS = 10;
const REPEATED = ['500', '502', '503', '504'];
const BACKOFF = { initialInterval: 500, maxInterval: 10_000, exponent: 2, maxElapsedTime: 60_000 };

/** How far the links have come, or the customers after them; the rest is little, and is read again. */
const savedState = z.union([
  z.object({ folder: z.string(), after: z.string().optional() }),
  z.object({ customers: z.object({ after: z.string().optional() }) }),
]);
type State = z.infer<typeof savedState>;

export function openDubSource(parts: DubSourceParts): Source {
  const { token, server, workspaceId } = parts;
  const dub = new Dub({
    token,
    ...(server !== undefined && { serverURL: server }),
    retryConfig: { strategy: 'backoff', backoff: BACKOFF, retryConnectionErrors: true },
  });
  return {
    name: `dub ${sha256Hex(JSON.stringify([server, workspaceId, token])).slice(0, 32)}`,
    batches: (state) => batches(createReader(dub, parts), parts, savedState.safeParse(state).data),
  };
}

async function* batches(
  reader: Reader,
  parts: DubSourceParts,
  from: State | undefined,
): AsyncGenerator<Batch> {
  const number = { last: 0 };
  const start = from ?? { folder: UNSORTED };
  const batch = (state: State, records: readonly Entry[]): Batch => ({
    state,
    lines: records.map((entry) => toLine(entry, number)),
  });

  for await (const tags of reader.tags())
    yield batch(
      start,
      tags.map((tag) => tagEntry(tag, parts)),
    );
  const folders = await reader.folders();
  for (const some of slices(folders))
    yield batch(
      start,
      some.map((folder) => folderEntry(folder, parts)),
    );
  const domains = await reader.domains();
  for (const some of slices(domains))
    yield batch(
      start,
      some.map((domain) => domainEntry(domain, parts)),
    );

  if ('folder' in start) {
    const slugs = new Set(domains.map(({ slug }) => slug));
    const order = [UNSORTED, ...folders.map(({ id }) => id)];
    // A folder that has gone meanwhile starts the links again, which changes nothing that is in.
    for (const folder of order.slice(Math.max(0, order.indexOf(start.folder)))) {
      const after = folder === start.folder ? start.after : undefined;
      for await (const links of reader.links(folder, after)) {
        yield batch({ folder, after: links.at(-1)?.id }, linkEntries(links, slugs, parts));
      }
    }
  }
  const after = 'customers' in start ? start.customers.after : undefined;
  for await (const customers of reader.customers(after)) {
    yield batch(
      { customers: { after: customers.at(-1)?.id } },
      customers.map((customer) => customerEntry(customer, parts)),
    );
  }
}

function* slices<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += PAGE_SIZE) yield items.slice(start, start + PAGE_SIZE);
}

type Tag = { readonly id: string; readonly name: string; readonly color: string };

interface Reader {
  tags(): AsyncIterable<readonly Tag[]>;
  folders(): Promise<FolderSchema[]>;
  domains(): Promise<DomainSchema[]>;
  /** Newest first, from after the given one. */
  links(folderId: string, after: string | undefined): AsyncIterable<readonly LinkSchema[]>;
  /** Newest first, from after the given one; none where the plan there has no customers. */
  customers(after: string | undefined): AsyncIterable<readonly Customer[]>;
}

function createReader(dub: Dub, { wait }: DubSourceParts): Reader {
  const ask = <T>(request: () => Promise<T>): Promise<T> => patiently(request, wait);
  const options = { retryCodes: REPEATED };

  async function* pages<T>(list: (page: number) => Promise<T[]>): AsyncGenerator<T[]> {
    for (let page = 1; ; page++) {
      const items = await ask(() => list(page));
      if (items.length > 0) yield items;
      if (items.length < PAGE_SIZE) return;
    }
  }

  async function all<T>(list: (page: number) => Promise<T[]>): Promise<T[]> {
    const items: T[] = [];
    for await (const page of pages(list)) items.push(...page);
    return items;
  }

  const listDomains = (archived: boolean) =>
    all(async (page) => (await dub.domains.list({ archived, page, pageSize: PAGE_SIZE }, options)).result);

  async function* following<T extends { id: string }>(
    start: string | undefined,
    list: (page: { pageSize: number; startingAfter?: string }) => Promise<{ result: T[] }>,
  ): AsyncGenerator<T[]> {
    let after = start;
    for (;;) {
      const page = { pageSize: PAGE_SIZE, ...(after !== undefined && { startingAfter: after }) };
      const found = await ask(() => list(page)).catch((error: unknown) => {
        // What an interrupted run had come to is gone: there is no going on from it.
        if (error instanceof UnprocessableEntity && after !== undefined && after === start) return undefined;
        throw error;
      });
      const items = found?.result;
      if (items && items.length > 0) yield items;
      if (items && items.length < PAGE_SIZE) return;
      after = items?.at(-1)?.id;
    }
  }

  async function* customers(after: string | undefined): AsyncGenerator<Customer[]> {
    const expanded = { includeExpandedFields: true };
    try {
      yield* following(after, (page) => dub.customers.list({ ...expanded, ...page }, options));
    } catch (error) {
      if (!(error instanceof AppError && error.cause instanceof Forbidden)) throw error;
    }
  }

  return {
    tags: () => pages((page) => dub.tags.list({ page, pageSize: PAGE_SIZE }, options)),
    folders: () => all((page) => dub.folders.list({ page, pageSize: PAGE_SIZE }, options)),
    async domains() {
      const found = [...(await listDomains(false)), ...(await listDomains(true))];
      return [...new Map(found.map((domain) => [domain.id, domain])).values()];
    },
    links: (folderId, after) =>
      following(after, (page) => dub.links.list({ folderId, showArchived: true, ...page }, options)),
    customers,
  };
}

async function patiently<T>(request: () => Promise<T>, wait: (seconds: number) => Promise<void>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (error instanceof RateLimitExceeded) await wait(waitSeconds(error.headers.get('retry-after')));
      else throw readable(error);
    }
  }
}

function waitSeconds(header: string | null): number {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.max(1, Math.ceil(seconds)) : DEFAULT_WAIT_SECONDS;
}

/** A key is also unknown to a service that it is not a key of. */
const HINTS: Readonly<Record<number, string>> = {
  401: ' Check --token, and --server: is it the service that the token belongs to?',
  404: ' Check --server.',
};

/** What the other service says, for whoever runs the import. */
function readable(error: unknown): unknown {
  if (error instanceof HTTPClientError) {
    const reason = 'The other service cannot be reached. Check --server and the network.';
    return new AppError('unprocessable_entity', reason, { cause: error });
  }
  if (error instanceof UnprocessableEntity || !(error instanceof DubError)) return error;
  const hint = HINTS[error.statusCode] ?? '';
  return new AppError(
    'unprocessable_entity',
    `The other service answered ${error.statusCode}: ${error.message}.${hint}`.replaceAll('..', '.'),
    { cause: error },
  );
}

interface Entry {
  readonly type: string;
  readonly values: Readonly<Record<string, unknown>>;
}

function toLine({ type, values }: Entry, number: { last: number }): InputLine {
  number.last += 1;
  const given = Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  );
  return { number: number.last, type, values: given };
}

function tagEntry({ id, name, color }: Tag, { workspaceId }: DubSourceParts): Entry {
  return { type: 'tag', values: { id, workspaceId, name, color } };
}

function folderEntry(folder: FolderSchema, { workspaceId }: DubSourceParts): Entry {
  const { id, name, description, type: kind, accessLevel } = folder;
  return {
    type: 'folder',
    values: { id, workspaceId, name, description, kind, accessLevel, ...times(folder) },
  };
}

function domainEntry(domain: DomainSchema, { workspaceId, hasPrimaryDomain }: DubSourceParts): Entry {
  const { registeredDomain: _, primary, ...values } = domain;
  const isPrimary = primary && !hasPrimaryDomain;
  return { type: 'domain', values: { ...values, workspaceId, primary: isPrimary, ...times(domain) } };
}

/** Links and, before them, the tags they have: one may have been made since the tags were read. */
function linkEntries(
  links: readonly LinkSchema[],
  slugs: ReadonlySet<string>,
  parts: DubSourceParts,
): Entry[] {
  const tags = new Map(links.flatMap((link) => (link.tags ?? []).map((tag) => [tag.id, tag])));
  return [
    ...[...tags.values()].map((tag) => tagEntry(tag, parts)),
    ...links.map((link) => linkEntry(link, slugs, parts)),
  ];
}

/** Fields that are the same here and there. */
const SAME = [
  'id',
  'key',
  'url',
  'externalId',
  'tenantId',
  'programId',
  'partnerId',
  'folderId',
  'userId',
  'trackConversion',
  'archived',
  'proxy',
  'rewrite',
  'doIndex',
  'publicStats',
  'expiredUrl',
  'password',
  'title',
  'description',
  'image',
  'video',
  'ios',
  'android',
  'comments',
  'clicks',
  'leads',
  'conversions',
  'sales',
  'saleAmount',
] as const satisfies (keyof LinkSchema)[];
const TIMES = [
  'expiresAt',
  'disabledAt',
  'testStartedAt',
  'testCompletedAt',
  'lastClicked',
] as const satisfies (keyof LinkSchema)[];

/** A link on a domain of the other service's own goes to the default domain here. */
function linkEntry(link: LinkSchema, slugs: ReadonlySet<string>, { workspaceId }: DubSourceParts): Entry {
  return {
    type: 'link',
    values: {
      ...Object.fromEntries(SAME.map((name) => [name, link[name]])),
      ...Object.fromEntries(TIMES.map((name) => [name, iso(link[name])])),
      ...times(link),
      workspaceId,
      domain: slugs.has(link.domain) ? link.domain : null,
      tagIds: (link.tags ?? []).map(({ id }) => id),
      geo: link.geo && Object.keys(link.geo).length > 0 ? link.geo : null,
      testVariants: link.testVariants?.length ? link.testVariants : null,
      utm_source: link.utmSource,
      utm_medium: link.utmMedium,
      utm_campaign: link.utmCampaign,
      utm_term: link.utmTerm,
      utm_content: link.utmContent,
    },
  };
}

/** A name that is only the e-mail address, or made up, was none there either. */
function customerEntry(customer: Customer, { workspaceId }: DubSourceParts): Entry {
  const { id, name, email, avatar, externalId, stripeCustomerId, country, sales, saleAmount } = customer;
  return {
    type: 'customer',
    values: {
      id,
      workspaceId,
      // Without one, the customer still needs something that tells it apart.
      externalId: externalId || id,
      name: name === email || name === displayName({ id, name: null, email: null }) ? null : name,
      email,
      avatar,
      stripeCustomerId,
      country,
      sales,
      saleAmount,
      linkId: customer.link?.id,
      programId: customer.programId,
      partnerId: customer.partner?.id,
      firstSaleAt: iso(customer.firstSaleAt),
      subscriptionCanceledAt: iso(customer.subscriptionCanceledAt),
      createdAt: iso(customer.createdAt),
    },
  };
}

function times({ createdAt, updatedAt }: { createdAt: string; updatedAt: string }) {
  return { createdAt: iso(createdAt), updatedAt: iso(updatedAt) };
}

function iso(text: string | null | undefined): string | null {
  return text ? new Date(text).toISOString() : null;
}
