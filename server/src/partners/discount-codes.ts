// The codes of a program: each is one partner's, belongs to one of its links, and is worth what the partner's group
// gives. They follow the partner's place in the program inside the transaction that changes it.
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import { createWalk } from '../db/walk.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { Links } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Discount } from './discount.ts';
import type { CodeFilter, DiscountCodeStore } from './discount-code.store.ts';
import {
  CODE_ID_PREFIX,
  CODE_TRIES,
  codeFor,
  type DiscountCode,
  longerCode,
  presentToldCode,
} from './discount-code.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentEffects } from './enrolment-effects.ts';
import { isActive } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { PartnerGroup } from './group.ts';
import type { PartnerStore } from './partner.store.ts';
import type { Enrolment } from './partner.ts';
import type { Programs } from './programs.ts';
import type { Discounts } from './rewards.ts';

export interface DiscountCodesParts {
  readonly db: Database;
  readonly store: DiscountCodeStore;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly enrolmentStore: Pick<EnrolmentStore, 'findMembers'>;
  readonly people: PartnerStore;
  readonly discounts: Discounts;
  readonly links: Pick<Links, 'findByIds'>;
  readonly linksOfPartners: Pick<LinksOfPartners, 'list'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface NewCode {
  readonly partnerId: string;
  readonly linkId: string;
  readonly code?: string | undefined;
}

/** Each of them may get a code. */
const PARTNERS_PER_STEP = 100;

export function createDiscountCodes(parts: DiscountCodesParts) {
  const { db, store, programs, enrolments, people, discounts, links, clock, ids } = parts;

  async function findDiscount(id: string | null): Promise<Discount | undefined> {
    return id === null ? undefined : (await discounts.findByIds([id])).get(id);
  }

  async function tell(
    type: 'discount_code.created' | 'discount_code.deleted',
    codes: readonly DiscountCode[],
    worth: ReadonlyMap<string, Discount>,
  ): Promise<void> {
    const events = codes.map((code) => {
      const { id, programId, partnerId, linkId, discountId, workspaceId } = code;
      const payload = { id, programId, partnerId, linkId, discountId };
      return { workspaceId, type, payload, webhook: presentToldCode(code, worth.get(discountId ?? '')) };
    });
    await appendOutbox(db.query, events, clock.now());
  }

  async function remove(code: DiscountCode): Promise<void> {
    await store.delete(code.id);
    await tell(
      'discount_code.deleted',
      [code],
      await discounts.findByIds(code.discountId ? [code.discountId] : []),
    );
  }

  /** Undefined when somebody else has the code. */
  async function insert(
    { programId, workspaceId, partnerId }: Enrolment,
    linkId: string,
    discount: Discount,
    text: string,
  ): Promise<DiscountCode | undefined> {
    const nowMs = clock.now();
    const code: DiscountCode = {
      id: ids(CODE_ID_PREFIX),
      programId,
      workspaceId,
      code: text,
      discountId: discount.id,
      partnerId,
      linkId,
      disabledAt: null,
      createdAt: nowMs,
      updatedAt: nowMs,
    };
    if (!(await store.insert(code))) return undefined;
    await tell('discount_code.created', [code], new Map([[discount.id, discount]]));
    return code;
  }

  /** A code made of the partner's name and the amount. */
  async function makeUp(enrolment: Enrolment, linkId: string, discount: Discount) {
    const partner = await people.find(enrolment.partnerId);
    const short = codeFor(partner?.name ?? null, discount);
    let made = await insert(enrolment, linkId, discount, short);
    for (let tries = 0; !made && tries < CODE_TRIES; tries++) {
      made = await insert(enrolment, linkId, discount, longerCode(short));
    }
    return made;
  }

  /** A code that no discount stands behind makes room for one that is worth something. */
  async function assertRoom(linkId: string): Promise<void> {
    const present = await store.findByLink(linkId);
    if (!present) return;
    if (present.discountId !== null) {
      throw new AppError('bad_request', `custom: linkId: the link has the code ${present.code} already`);
    }
    await remove(present);
  }

  async function assertLinkOf({ programId, partnerId, workspaceId }: Enrolment, linkId: string) {
    const link = (await links.findByIds(workspaceId, [linkId])).get(linkId);
    if (link?.programId === programId && link.partnerId === partnerId) return;
    throw new AppError('bad_request', 'custom: linkId: is not a link of this partner');
  }

  async function getNamed(actor: Actor, ref: string): Promise<DiscountCode> {
    if (ref.startsWith(CODE_ID_PREFIX)) return owned(await store.find(ref), actor.workspaceId, 'code');
    const program = await programs.find(actor.workspaceId);
    const found = program && (await store.findByCode(program.id, ref));
    return owned(found, actor.workspaceId, 'code');
  }

  /** Makes the first code of a partner where the discount says that partners get one by themselves. */
  async function provide(enrolment: Enrolment): Promise<void> {
    const discount = await findDiscount(enrolment.discountId);
    if (!discount || discount.autoProvisionAt === null) return;
    const { programId, partnerId } = enrolment;
    if (await store.findOldest(programId, partnerId)) return;
    const [link] = await parts.linksOfPartners.list(enrolment, { page: 1, pageSize: 1 });
    // Whoever finds no free code can still be given one by hand.
    if (link) await makeUp(enrolment, link.id, discount);
  }

  /** The codes of some partners of a group that has a discount now. */
  async function followSome(_workspaceId: string, target: string, after: string, limit: number) {
    const [programId = '', id = ''] = target.split('/');
    const members = await parts.enrolmentStore.findMembers({ programId, id }, after, limit);
    for (const enrolment of members.enrolments) if (isActive(enrolment.status)) await follow(enrolment);
    return members.last;
  }

  const providing = createWalk({
    db,
    kind: 'discount-codes',
    step: followSome,
    membersPerStep: PARTNERS_PER_STEP,
  });

  /** Codes of a partner are worth what its group gives now. */
  async function follow(enrolment: Enrolment): Promise<void> {
    const { discountId } = enrolment;
    const nowMs = clock.now();
    const worth = isActive(enrolment.status) && discountId !== null;
    const change = worth ? { discountId, disabledAt: null } : { discountId: null, disabledAt: nowMs };
    await store.updateOfPartner(enrolment, change, nowMs);
    if (worth) await provide(enrolment);
  }

  const effects: EnrolmentEffects = {
    onEnrol: follow,
    onBan: follow,
    onUnban: follow,
    onReactivate: follow,
    onMove: follow,
    onDeactivate: (enrolment) => store.updateOfPartner(enrolment, { disabledAt: clock.now() }, clock.now()),
  };

  return {
    effects,

    async list(actor: Actor, filter: CodeFilter, page: { page: number; pageSize: number }) {
      const program = await programs.getOfWorkspace(actor.workspaceId);
      const { partnerId, discountId } = filter;
      if (partnerId !== undefined) await enrolments.get(program, { partnerId });
      const discount = discountId === undefined ? undefined : await findDiscount(discountId);
      if (discountId !== undefined && discount?.programId !== program.id) {
        throw new AppError('not_found', 'There is no such discount in this program.');
      }
      return store.list(program.id, filter, page);
    },

    /** The partner is locked meanwhile: two requests at once do not give one link two codes. */
    create(actor: Actor, { partnerId, linkId, code }: NewCode): Promise<DiscountCode> {
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const enrolment = await enrolments.get(program, { partnerId });
        await assertLinkOf(enrolment, linkId);
        const discount = await findDiscount(enrolment.discountId);
        if (!discount) {
          throw new AppError('bad_request', 'custom: partnerId: this partner’s group gives no discount');
        }
        await assertRoom(linkId);
        const made = code
          ? await insert(enrolment, linkId, discount, code)
          : await makeUp(enrolment, linkId, discount);
        if (made) return made;
        throw new AppError('conflict', `custom: code: ${code ?? 'every code tried'} is taken already`);
      });
    },

    /** By id or by the code itself. One without a discount counts as gone. */
    delete(actor: Actor, ref: string): Promise<DiscountCode> {
      return db.write(async () => {
        const code = await getNamed(actor, ref);
        if (code.discountId === null) throw new AppError('not_found', 'There is no such code.');
        await remove(code);
        return code;
      });
    },

    /** For the partners of a group that has got a discount, or whose discount provides codes now. */
    provideTo: ({ id, programId, workspaceId }: PartnerGroup): Promise<void> =>
      providing.begin(workspaceId, `${programId}/${id}`, clock.now()),

    /** Goes on with that; for a job. */
    provide: (signal: AbortSignal): Promise<void> => providing.run(signal),

    /** With their links, which are about to go. */
    async deleteOfLinks(linkIds: readonly string[]): Promise<void> {
      const codes = await store.deleteOfLinks(linkIds);
      const worth = await discounts.findByIds(codes.flatMap(({ discountId }) => discountId ?? []));
      await tell('discount_code.deleted', codes, worth);
    },

    /** The link and the partner that a sale with this code belongs to; undefined when the code is worth nothing. */
    async findLinkByCode(
      programId: string,
      code: string,
    ): Promise<{ linkId: string; partnerId: string } | undefined> {
      const found = await store.findByCode(programId, code);
      if (!found || found.disabledAt !== null || found.discountId === null) return undefined;
      return { linkId: found.linkId, partnerId: found.partnerId };
    },
  };
}

export type DiscountCodes = ReturnType<typeof createDiscountCodes>;
