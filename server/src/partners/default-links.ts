// The links that a partner gets by itself: one for each default link of its group. They follow the partner into
// another group. What cannot be made is left out, so that nobody is kept from joining by a taken name.
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import type { LinkDraft } from '../links/link-draft.ts';
import { CAMPAIGN_FIELDS } from '../links/link-url.ts';
import type { Links } from '../links/links.ts';
import { slugify } from '../workspaces/workspace.ts';
import type { GroupStore } from './group.store.ts';
import { type DefaultLink, type PartnerGroup, templateFor } from './group.ts';
import { type Enrolment, localPart, type Partner, suffix } from './partner.ts';
import type { PartnerLinkRow, PartnerLinkRowStore } from './partner-link-rows.store.ts';
import type { Program } from './program.ts';

/** What a caller may set on the links; everything else is the program's. */
export type LinkProps = Omit<
  LinkDraft,
  'url' | 'domain' | 'key' | 'folderId' | 'trackConversion' | 'programId' | 'partnerId' | 'geo' | 'webhookIds'
>;

export interface DefaultLinkWish {
  readonly username?: string | null | undefined;
  readonly linkProps?: LinkProps | undefined;
}

export interface DefaultLinksParts {
  readonly links: Pick<Links, 'createPrepared' | 'updatePrepared' | 'findForChange'>;
  readonly groups: Pick<GroupStore, 'findDefaultLinks'>;
  readonly rows: PartnerLinkRowStore;
  readonly clock: Clock;
}

export interface DefaultLinkOwner {
  /** Acts for the program. */
  readonly actor: Actor;
  readonly program: Program;
  readonly group: PartnerGroup;
  readonly enrolment: Enrolment;
  readonly partner: Partner;
}

interface WantedLink {
  readonly owner: DefaultLinkOwner;
  readonly target: DefaultLink;
}

const KEY_TRIES = 5;

export function createDefaultLinks({ links, groups, rows, clock }: DefaultLinksParts) {
  /** All for one program. Each is tried under its own name, then with something random behind it. */
  async function make(
    wanted: readonly WantedLink[],
    wish: DefaultLinkWish = {},
    alone = false,
  ): Promise<void> {
    const made: PartnerLinkRow[] = [];
    let open = wanted;
    for (let attempt = 0; attempt < KEY_TRIES && open.length > 0; attempt++) {
      const drafts = open.map(({ owner, target }, index) => {
        const key = keyFor(owner.partner, wish, alone && attempt === 0 ? '' : `-${suffix()}`);
        return draftFor(owner, target.domain, target.url, { ...propsFor(wish, index), key });
      });
      const outcomes = await links.createPrepared((open[0] as WantedLink).owner.actor, drafts);
      const again: WantedLink[] = [];
      for (const [index, outcome] of outcomes.entries()) {
        const { owner, target } = open[index] as WantedLink;
        const row = { enrolmentId: owner.enrolment.id, defaultLinkId: target.id, url: target.url };
        if ('link' in outcome) made.push({ ...row, linkId: outcome.link.id });
        else if (outcome.error.message.startsWith('custom: key:')) again.push({ owner, target });
      }
      open = again;
    }
    await rows.insert(made, clock.now());
  }

  return {
    async create(owner: DefaultLinkOwner, wish: DefaultLinkWish = {}): Promise<void> {
      const wanted = await groups.findDefaultLinks(owner.group.id);
      await make(
        wanted.map((target) => ({ owner, target })),
        wish,
        wanted.length === 1,
      );
    },

    /** For one that the group has now, to some of its partners; whoever has it already gets no second link. */
    async add(owners: readonly DefaultLinkOwner[], target: DefaultLink): Promise<void> {
      const ids = owners.map(({ enrolment }) => enrolment.id);
      const present = new Set(await rows.findHolders(ids, target.id));
      const without = owners.filter(({ enrolment }) => !present.has(enrolment.id));
      await make(without.map((owner) => ({ owner, target })));
    },

    /**
     * Links that stood for default links of another group now lead where this group's do, under the addresses
     * that they have. What this group has more is made; what it has less stays, as any other link. Links that
     * stand for default links of this group are left alone.
     */
    async follow(owner: DefaultLinkOwner): Promise<void> {
      const all = await groups.findDefaultLinks(owner.group.id);
      const standing = await rows.findDefaults(owner.enrolment.id);
      const wanted = all.filter((target) => !standing.some((row) => row.defaultLinkId === target.id));
      const strays = standing.filter((row) => !all.some((target) => row.defaultLinkId === target.id));
      const present = await links.findForChange(strays.map(({ linkId }) => linkId));
      const pairs = present.map((link, index) => ({ link, target: wanted[index] }));
      const kept = pairs.flatMap(({ link, target }) => (target ? [{ link, target }] : []));
      await links.updatePrepared(
        owner.actor,
        kept.map(({ link, target }) => ({ link, draft: destinationOf(owner.group, target.url) })),
      );
      for (const { link, target } of pairs) await rows.setDefault(link.id, target ?? null);
      await make(wanted.slice(present.length).map((target) => ({ owner, target })));
    },
  };
}

export type DefaultLinks = ReturnType<typeof createDefaultLinks>;

/** A new link of a partner: what the program fixes, and what the caller may choose. */
export function draftFor(
  { program, group, enrolment }: Pick<DefaultLinkOwner, 'program' | 'group' | 'enrolment'>,
  domain: string,
  url: string,
  chosen: LinkProps & { readonly key?: string | undefined },
): LinkDraft {
  return {
    tenantId: enrolment.tenantId,
    ...chosen,
    ...templateFor(group, url),
    domain,
    url,
    trackConversion: true,
    programId: program.id,
    partnerId: enrolment.partnerId,
  };
}

/** Another destination, with the group's campaign and nothing left of an earlier one. */
export function destinationOf(group: PartnerGroup, url: string): LinkDraft {
  const given = URL.parse(url)?.searchParams;
  const cleared = Object.fromEntries(
    CAMPAIGN_FIELDS.map((field) => [field, given?.get(field) ?? null]),
  ) as LinkDraft;
  return { ...cleared, ...templateFor(group, url), url };
}

/** An id of the caller's own is one link's: the first one's. */
function propsFor({ linkProps = {} }: DefaultLinkWish, index: number): LinkProps {
  const { prefix: _, externalId, ...props } = linkProps;
  return index === 0 && externalId !== undefined ? { ...props, externalId } : props;
}

function keyFor(
  { name, email, id }: Partner,
  { username, linkProps }: DefaultLinkWish,
  ending: string,
): string {
  const names = [username, name, email && localPart(email), id];
  const base = names.map((text) => slugify(text ?? '')).find((text) => text !== '');
  const prefix = (linkProps?.prefix ?? '').replaceAll(/^\/+|\/+$/g, '');
  return `${prefix && `${prefix}/`}${base}${ending}`;
}
