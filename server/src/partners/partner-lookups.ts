// What reports and customers ask about partners: things of the workspace's program by id, for a page at a time.
import { type Discount, shownAmount } from './discount.ts';
import type { Enrolments } from './enrolments.ts';
import type { PartnerGroup } from './group.ts';
import type { Groups } from './groups.ts';
import { displayName, type EnrolledPartner } from './partner.ts';
import type { PartnerTag, PartnerTags } from './partner-tags.ts';
import type { Programs } from './programs.ts';
import type { Discounts } from './rewards.ts';

export interface PartnerLookupsParts {
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly groups: Groups;
  readonly tags: PartnerTags;
  readonly discounts: Discounts;
}

export function createPartnerLookups({ programs, enrolments, groups, tags, discounts }: PartnerLookupsParts) {
  /** Nothing is found in a workspace without a program; unknown ids are left out. */
  const within =
    <T>(find: (programId: string, ids: readonly string[]) => Promise<Map<string, T>>) =>
    async (workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, T>> => {
      const program = ids.length === 0 ? undefined : await programs.find(workspaceId);
      return program ? find(program.id, ids) : new Map();
    };

  async function withDiscounts(programId: string, partnerIds: readonly string[]) {
    const found = await enrolments.findEnrolled(programId, partnerIds);
    const discountIds = [...found.values()].flatMap(({ enrolment }) => enrolment.discountId ?? []);
    const known = await discounts.findByIds(discountIds);
    return mapValues(found, ({ partner, enrolment }) => ({
      partner: { id: partner.id, name: displayName(partner), email: partner.email, image: partner.image },
      discount: presentDiscount(known.get(enrolment.discountId ?? '')),
    }));
  }

  return {
    findPartners: within(async (programId, ids) =>
      mapValues(await enrolments.findEnrolled(programId, ids), presentPartner),
    ),
    findGroups: within<PartnerGroup>(groups.findByIds),
    findPartnerTags: within<PartnerTag>(tags.findByIds),
    /** Partners with what their customers pay less. */
    findEnrolments: within(withDiscounts),
  };
}

function mapValues<T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): Map<string, U> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

function presentPartner({ partner }: EnrolledPartner) {
  const { id, email, image, payoutsEnabledAt, country } = partner;
  return { id, name: displayName(partner), email, image, payoutsEnabledAt, country };
}

export function presentDiscount(discount: Discount | undefined) {
  if (!discount) return null;
  const { id, type, maxDuration, couponId, description } = discount;
  return { id, amount: shownAmount(discount), type, maxDuration, couponId, couponTestId: null, description };
}
