// What pages are told of the partner behind a link, in memory, so that a click that a page reports costs no query.
// Dropped when the partner's place in the program or a discount changes.
import type { Database } from '../db/database.ts';
import { createFollowedCache, EVERYTHING, type FollowedCache } from '../db/followed-cache.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import { displayName, type EnrolledPartner } from './partner.ts';
import { presentDiscount } from './partner-lookups.ts';
import type { DiscountStore } from './reward.store.ts';

/** Empty for partners who earn nothing now. */
export interface PartnerCard {
  readonly partner?: {
    readonly id: string;
    readonly name: string;
    readonly image: string | null;
    readonly groupId: string | null;
    readonly tenantId: string | null;
  };
  readonly discount?: Omit<NonNullable<ReturnType<typeof presentDiscount>>, 'description'> | null;
}

export interface PartnerCardsParts {
  readonly db: Pick<Database, 'inTransaction'>;
  readonly enrolments: Pick<EnrolmentStore, 'findEnrolled'>;
  readonly discounts: Pick<DiscountStore, 'findByIds'>;
  readonly maxPartners?: number;
}

interface LinkOwner {
  readonly programId: string | null;
  readonly partnerId: string | null;
}

const NOBODY: PartnerCard = {};

export function createPartnerCards({ db, enrolments, discounts, maxPartners = 50_000 }: PartnerCardsParts) {
  async function loadOf(programId: string, keys: readonly string[]): Promise<[string, PartnerCard][]> {
    const partnerIds = keys.map((key) => key.slice(key.indexOf('/') + 1));
    const found = await enrolments.findEnrolled(programId, partnerIds);
    const earning = found.filter(({ enrolment }) => mayEarn(enrolment.status));
    const discountIds = [...new Set(earning.flatMap(({ enrolment }) => enrolment.discountId ?? []))];
    const known = new Map(
      (await discounts.findByIds(discountIds)).map((discount) => [discount.id, discount]),
    );
    const cards = new Map(
      earning.map((enrolled) => {
        const discount = presentDiscount(known.get(enrolled.enrolment.discountId ?? ''));
        return [keyOf(programId, enrolled.partner.id), cardOf(enrolled, discount)];
      }),
    );
    return keys.map((key) => [key, cards.get(key) ?? NOBODY]);
  }

  const cache: FollowedCache<PartnerCard> = createFollowedCache({
    db,
    name: 'partner-cards',
    async load(keys) {
      const byProgram = Map.groupBy(keys, (key) => key.slice(0, key.indexOf('/')));
      const loaded = await Promise.all([...byProgram].map(([id, own]) => loadOf(id, own)));
      return new Map(loaded.flat());
    },
    keyOf({ type, payload }) {
      if (type === 'discount.changed') return EVERYTHING;
      if (type !== 'enrolment.changed' && type !== 'partner.changed') return undefined;
      const { programId, partnerId } = payload as { programId: string; partnerId: string };
      return keyOf(programId, partnerId);
    },
    max: maxPartners,
  });

  return {
    follower: cache.follower,
    async find({ programId, partnerId }: LinkOwner): Promise<PartnerCard> {
      if (programId === null || partnerId === null) return NOBODY;
      return (await cache.find(keyOf(programId, partnerId))) ?? NOBODY;
    },
  };
}

function keyOf(programId: string, partnerId: string): string {
  return `${programId}/${partnerId}`;
}

function cardOf(
  { partner, enrolment }: EnrolledPartner,
  discount: ReturnType<typeof presentDiscount>,
): PartnerCard {
  const { groupId, tenantId } = enrolment;
  const { description: _, ...shown } = discount ?? {};
  return {
    partner: { id: partner.id, name: displayName(partner), image: partner.image, groupId, tenantId },
    discount: discount ? (shown as NonNullable<PartnerCard['discount']>) : null,
  };
}
