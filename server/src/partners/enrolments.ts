// Enrolments as everything about partners uses them: found by partner or tenant, shown with links and tags, and
// told about. Changes are made in admissions and in enrolment-changes.
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { ApplicationStore } from './application.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EffectList } from './enrolment-effects.ts';
import { presentEnrolled, presentWebhookPartner, type ShownPartner } from './enrolment-wire.ts';
import type { PartnerStore } from './partner.store.ts';
import type { EnrolledPartner, Enrolment, Totals } from './partner.ts';
import type { PartnerTagStore } from './partner-tag.store.ts';
import type { Program } from './program.ts';

/** How callers name a partner of their program; the id wins. */
export interface PartnerWish {
  readonly partnerId?: string | undefined;
  readonly tenantId?: string | undefined;
}

export interface EnrolmentsParts {
  readonly db: Database;
  readonly store: EnrolmentStore;
  readonly partners: PartnerStore;
  readonly tags: PartnerTagStore;
  readonly applications: Pick<ApplicationStore, 'findByIds'>;
  readonly links: Pick<LinksOfPartners, 'findOfPartners'>;
  readonly effects: EffectList;
  readonly clock: Clock;
}

/** Links of one partner that lists show; more are a list of their own. */
const LINKS_SHOWN = 100;

export function createEnrolments(parts: EnrolmentsParts) {
  const { db, store, partners, tags, applications, links, effects, clock } = parts;

  async function withPeople(enrolments: readonly Enrolment[]): Promise<EnrolledPartner[]> {
    const found = await partners.findByIds(enrolments.map(({ partnerId }) => partnerId));
    const people = new Map(found.map((partner) => [partner.id, partner]));
    return enrolments.flatMap((enrolment) => {
      const partner = people.get(enrolment.partnerId);
      return partner ? [{ partner, enrolment }] : [];
    });
  }

  /** With links, tags and what became of applications, for a page of them at a time. */
  async function show(enrolments: readonly Enrolment[]): Promise<ShownPartner[]> {
    const [first] = enrolments;
    if (!first) return [];
    const people = await withPeople(enrolments);
    const ids = people.map(({ partner }) => partner.id);
    const linksOf = await links.findOfPartners(first.programId, ids, LINKS_SHOWN);
    const tagsOf = await tags.findOfEnrolments(enrolments.map(({ id }) => id));
    const found = await applications.findByIds(
      enrolments.flatMap(({ applicationId }) => applicationId ?? []),
    );
    const applied = new Map(found.map((application) => [application.id, application]));
    return people.map(({ partner, enrolment }) => ({
      partner,
      enrolment,
      links: linksOf.get(partner.id) ?? [],
      tags: tagsOf.get(enrolment.id) ?? [],
      application: applied.get(enrolment.applicationId ?? ''),
    }));
  }

  return {
    withPeople,
    show,

    /** Undefined when the partner is not in the program. Locked while in a transaction. */
    findByPartner: (programId: string, partnerId: string): Promise<Enrolment | undefined> =>
      store.findByPartner(programId, partnerId),

    /** The partner that a body or a query names; unknown is not found, whoever's it is. */
    async get(program: Program, { partnerId, tenantId }: PartnerWish): Promise<Enrolment> {
      if (!partnerId && !tenantId) {
        throw new AppError('bad_request', 'invalid_type: partnerId: give partnerId or tenantId');
      }
      const found = partnerId
        ? await store.findByPartner(program.id, partnerId)
        : await store.findByTenant(program.id, tenantId as string);
      if (!found) throw new AppError('not_found', 'There is no such partner in this program.');
      return found;
    },

    /** The partner that a path names; one of other programs only is refused, and nothing more is said of it. */
    async getNamed(program: Program | undefined, partnerId: string): Promise<Enrolment> {
      const found = program && (await store.findByPartner(program.id, partnerId));
      if (found) return found;
      if (await partners.find(partnerId)) {
        throw new AppError('forbidden', 'This partner belongs to another workspace.');
      }
      throw new AppError('not_found', 'There is no such partner in this program.');
    },

    /** By partner, for what shows partners beside something else; those not in the program are left out. */
    async findEnrolled(
      programId: string,
      partnerIds: readonly string[],
    ): Promise<Map<string, EnrolledPartner>> {
      const found = await store.findEnrolled(programId, [...new Set(partnerIds)]);
      return new Map(found.map((enrolled) => [enrolled.partner.id, enrolled]));
    },

    /** As receivers of webhooks see it beside a lead, a sale or a commission. */
    async findForWebhook(programId: string, partnerId: string) {
      const [found] = await store.findEnrolled(programId, [partnerId]);
      return found ? presentWebhookPartner(found) : null;
    },

    /** Adds to what the partner has brought; in the transaction of what happened, whose time is `atMs`. */
    async addTotals(programId: string, partnerId: string, added: Totals, atMs?: number): Promise<void> {
      await store.addTotals(programId, partnerId, added, atMs);
      for (const effect of effects) await effect.onTotals?.(programId, partnerId);
    },

    /** Tells analytics, and whoever else goes by it, of the groups and tags that partners have now. */
    async tellChanged(enrolments: readonly Enrolment[], deleted = false): Promise<void> {
      const tagsOf = await tags.findOfEnrolments(deleted ? [] : enrolments.map(({ id }) => id));
      const events = enrolments.map((enrolment) => {
        const payload = {
          programId: enrolment.programId,
          partnerId: enrolment.partnerId,
          groupId: enrolment.groupId ?? '',
          partnerTagIds: (tagsOf.get(enrolment.id) ?? []).map((tag) => tag.id),
          deleted,
        };
        return { workspaceId: enrolment.workspaceId, type: 'enrolment.changed', payload };
      });
      await appendOutbox(db.query, events, clock.now());
      if (deleted) return;
      for (const effect of effects) await effect.onRegroup?.(enrolments);
    },

    /** Tells receivers that somebody has joined the program. */
    async tellEnrolled(enrolment: Enrolment): Promise<void> {
      const [shown] = await show([enrolment]);
      if (!shown) return;
      const { tags: _, ...webhook } = presentEnrolled(shown);
      const { programId, partnerId, groupId, workspaceId } = enrolment;
      const payload = { programId, partnerId, groupId };
      await appendOutbox(
        db.query,
        [{ workspaceId, type: 'partner.enrolled', payload, webhook }],
        clock.now(),
      );
    },
  };
}

export type Enrolments = ReturnType<typeof createEnrolments>;
