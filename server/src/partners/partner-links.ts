// Links that are made for partners one by one: to addresses that their group allows, with the campaign of the
// group, under the domain of the program.
import type { Database } from '../db/database.ts';
import type { SaveImage } from '../files/image.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import { withStoredImage } from '../links/link-image.ts';
import { CAMPAIGN_FIELDS, type Campaign, withCampaign } from '../links/link-url.ts';
import { type Links, single } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { destinationOf, draftFor, type LinkProps } from './default-links.ts';
import type { Enrolments, PartnerWish } from './enrolments.ts';
import type { GroupStore } from './group.store.ts';
import { type AdditionalLink, type PartnerGroup, templateFor } from './group.ts';
import type { Groups } from './groups.ts';
import type { Enrolment } from './partner.ts';
import type { PartnerLinkRowStore } from './partner-link-rows.store.ts';
import { type Program, programActor } from './program.ts';
import type { Programs } from './programs.ts';

export interface PartnerLinksParts {
  readonly db: Database;
  readonly programs: Programs;
  readonly groups: Groups;
  readonly groupStore: GroupStore;
  readonly enrolments: Enrolments;
  readonly links: Links;
  readonly linksOfPartners: Pick<LinksOfPartners, 'list' | 'findByUrls'>;
  readonly rows: PartnerLinkRowStore;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly saveImage: SaveImage;
  readonly clock: Clock;
}

export interface NewPartnerLink {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly linkProps?: LinkProps | undefined;
}

/** Who the link is for, and whose rules it obeys. */
interface Place {
  readonly actor: Actor;
  readonly program: Program;
  readonly group: PartnerGroup;
  readonly enrolment: Enrolment;
}

export function createPartnerLinks(parts: PartnerLinksParts) {
  const { db, programs, groups, groupStore, enrolments, links, linksOfPartners, rows, clock } = parts;

  async function placeOf(actor: Actor, wish: PartnerWish): Promise<Place> {
    const program = await programs.getOfWorkspace(actor.workspaceId);
    assertReady(program);
    const enrolment = await enrolments.get(program, wish);
    return placeFor(program, enrolment, actor.userId);
  }

  async function placeFor(program: Program, enrolment: Enrolment, userId: string): Promise<Place> {
    const group = await groups.getOf(program, enrolment);
    const workspace = await parts.workspaces.get(program.workspaceId);
    return { actor: programActor(workspace, userId), program, group, enrolment };
  }

  async function checkedUrl({ group, program }: Place, given: string | undefined): Promise<string> {
    if (given) {
      const url = readDestination('url', given);
      assertAllowed(group, url);
      return url;
    }
    const [first] = await groupStore.findDefaultLinks(group.id);
    return first?.url ?? (program.url as string);
  }

  async function make(place: Place, url: string, { key, linkProps = {} }: NewPartnerLink): Promise<Link> {
    const domain = place.program.domain as string;
    const draft = draftFor(place, domain, url, { ...linkProps, ...(key && { key }) });
    const link = single(await links.createPrepared(place.actor, [draft]));
    const row = { linkId: link.id, enrolmentId: place.enrolment.id, defaultLinkId: null, url };
    await rows.insert([row], clock.now());
    return link;
  }

  /** The partner's link to this address, whatever campaign the group had when it was made. */
  async function findLink({ group, enrolment }: Place, url: string): Promise<Link | undefined> {
    const made = await links.findForChange(await rows.findByUrl(enrolment.id, url));
    const same = made.find((link) => link.partnerId === enrolment.partnerId && leadsTo(link.url, url));
    if (same) return same;
    const urls = [...new Set([url, withCampaign(url, templateFor(group, url))])];
    const [other] = await linksOfPartners.findByUrls(enrolment, urls);
    return other && (await links.findForChange([other.id]))[0];
  }

  /** Pictures become files before the transaction begins. */
  async function withImages(request: NewPartnerLink): Promise<NewPartnerLink> {
    if (!request.linkProps) return request;
    return {
      ...request,
      linkProps: (await withStoredImage(request.linkProps, parts.saveImage)) as LinkProps,
    };
  }

  return {
    async list(actor: Actor, wish: PartnerWish, page: { page: number; pageSize: number }): Promise<Link[]> {
      const program = await programs.getOfWorkspace(actor.workspaceId);
      return linksOfPartners.list(await enrolments.get(program, wish), page);
    },

    async create(actor: Actor, wish: PartnerWish, given: NewPartnerLink): Promise<Link> {
      const request = await withImages(given);
      return db.write(async () => {
        const place = await placeOf(actor, wish);
        return make(place, await checkedUrl(place, request.url), request);
      });
    },

    /** For callers that know the partner already, as the partner's own pages do. */
    async createFor(program: Program, enrolment: Enrolment, given: NewPartnerLink): Promise<Link> {
      const request = await withImages(given);
      return db.write(async () => {
        assertReady(program);
        const place = await placeFor(program, enrolment, '');
        return make(place, await checkedUrl(place, request.url), request);
      });
    },

    /** For the same. What stands for a default link of the group leads where that does. */
    updateFor(
      program: Program,
      enrolment: Enrolment,
      linkId: string,
      { url, key }: Omit<NewPartnerLink, 'linkProps'>,
    ): Promise<Link> {
      return db.write(async () => {
        const [link] = await links.findForChange([linkId]);
        if (link?.programId !== program.id || link.partnerId !== enrolment.partnerId) {
          throw new AppError('not_found', 'There is no such link.');
        }
        const place = await placeFor(program, enrolment, '');
        const target = url && (await checkedUrl(place, url));
        const defaults = target ? await rows.findDefaults(enrolment.id) : [];
        if (defaults.some((row) => row.linkId === linkId)) {
          throw new AppError('bad_request', 'custom: url: the program decides where this link leads');
        }
        if (target) await rows.setUrl(linkId, target);
        const draft = { ...(key && { key }), ...(target && destinationOf(place.group, target)) };
        return single(await links.updatePrepared(place.actor, [{ link, draft }]));
      });
    },

    /** The partner is locked meanwhile: two at once who find no link do not both make one. */
    async upsert(
      actor: Actor,
      wish: PartnerWish,
      given: NewPartnerLink & { readonly url: string },
    ): Promise<Link> {
      const request = await withImages(given);
      return db.write(async () => {
        const place = await placeOf(actor, wish);
        const url = await checkedUrl(place, request.url);
        const link = await findLink(place, url);
        if (!link) return make(place, url, request);
        const { prefix: _, ...props } = request.linkProps ?? {};
        const { key } = request;
        const draft = { ...props, ...(key && { key }), ...destinationOf(place.group, url) };
        return single(await links.updatePrepared(place.actor, [{ link, draft }]));
      });
    },
  };
}

export type PartnerLinks = ReturnType<typeof createPartnerLinks>;

function assertReady({ domain, url }: Program): void {
  if (domain && url) return;
  throw new AppError(
    'bad_request',
    'custom: url: the program needs a domain and a url before links can be made',
  );
}

function assertAllowed({ additionalLinks }: PartnerGroup, url: string): void {
  if (!additionalLinks) {
    throw new AppError('bad_request', 'custom: url: the group of this partner allows no links of its own');
  }
  const { hostname, pathname, search } = new URL(url);
  const allowed = additionalLinks.find(({ domain }) => domain === hostname);
  if (!allowed) {
    throw new AppError(
      'bad_request',
      `custom: url: ${hostname} is not among the hosts that the group allows: ${hostsOf(additionalLinks)}`,
    );
  }
  if (allowed.validationMode === 'exact' && trimmed(allowed.path) !== trimmed(pathname + search)) {
    throw new AppError('bad_request', `custom: url: on ${hostname} only ${allowed.path || '/'} is allowed`);
  }
}

const hostsOf = (links: readonly AdditionalLink[]) => links.map(({ domain }) => domain).join(', ');
const trimmed = (path: string) => path.replaceAll(/^\/+|\/+$/g, '');

const WITHOUT: Campaign = Object.fromEntries(CAMPAIGN_FIELDS.map((field) => [field, null]));

function leadsTo(stored: string, wanted: string): boolean {
  return normal(stored) === normal(wanted);
}

/** Without any campaign, in the form the parser gives it. */
function normal(url: string): string {
  return URL.parse(withCampaign(url, WITHOUT))?.href ?? url;
}
