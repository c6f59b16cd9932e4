// A customer: somebody who came through a link and did more than click. Type and pure rules.

export interface Customer {
  readonly id: string;
  readonly workspaceId: string;
  /** What the caller's own system knows the person by. */
  readonly externalId: string;
  /** As it was given; `displayName` is what people see. */
  readonly name: string | null;
  readonly email: string | null;
  readonly avatar: string | null;
  readonly stripeCustomerId: string | null;
  readonly country: string | null;
  /** The click that brought the customer. */
  readonly clickId: string | null;
  readonly clickedAt: number | null;
  readonly linkId: string | null;
  readonly programId: string | null;
  readonly partnerId: string | null;
  readonly sales: number;
  /** In US cents. */
  readonly saleAmount: number;
  readonly firstSaleAt: number | null;
  readonly subscriptionCanceledAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a new customer is made of; all but the external id may be unknown. */
export type CustomerDraft = Pick<Customer, 'externalId'> &
  Partial<
    Pick<
      Customer,
      | 'name'
      | 'email'
      | 'avatar'
      | 'stripeCustomerId'
      | 'country'
      | 'clickId'
      | 'clickedAt'
      | 'linkId'
      | 'programId'
      | 'partnerId'
    >
  >;

export type CustomerChange = Partial<
  Pick<Customer, 'externalId' | 'name' | 'email' | 'avatar' | 'stripeCustomerId' | 'country'>
>;

export const MAX_EXTERNAL_ID_LENGTH = 255;
export const MAX_NAME_LENGTH = 255;
export const MAX_EMAIL_LENGTH = 320;

const EXTERNAL = 'ext_';

/** The caller's own id in `ext_…`; undefined when the text is an id of ours. */
export function externalIdOf(ref: string): string | undefined {
  return ref.startsWith(EXTERNAL) ? ref.slice(EXTERNAL.length) : undefined;
}

export function newCustomer(
  draft: CustomerDraft,
  { id, workspaceId, nowMs }: { id: string; workspaceId: string; nowMs: number },
): Customer {
  return {
    name: null,
    email: null,
    avatar: null,
    stripeCustomerId: null,
    country: null,
    clickId: null,
    clickedAt: null,
    linkId: null,
    programId: null,
    partnerId: null,
    ...draft,
    id,
    workspaceId,
    sales: 0,
    saleAmount: 0,
    firstSaleAt: null,
    subscriptionCanceledAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

/** The name, else the e-mail address, else one made up from the id: always the same for the same customer. */
export function displayName({ id, name, email }: Pick<Customer, 'id' | 'name' | 'email'>): string {
  return name || email || generatedName(id);
}

/** Addresses that differ only in case are the same address. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase();
}

/** What searches look into, a line for each text. */
export function searchTextOf(customer: Pick<Customer, 'id' | 'name' | 'email' | 'externalId'>): string {
  const texts = new Set([displayName(customer), customer.email ?? '', customer.externalId]);
  return foldSearch([...texts].filter((text) => text !== '').join('\n'));
}

export function foldSearch(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** What is left of a deleted customer in texts that must stay. */
const NOBODY: Readonly<Record<string, string>> = {
  name: 'Deleted Customer',
  email: 'deleted@customer.com',
};

/** A JSON document with its `customer` made nobody and what the caller had attached taken out. */
export function withoutPerson(document: unknown, customerId: string): unknown {
  if (Array.isArray(document)) return document.map((item) => withoutPerson(item, customerId));
  if (typeof document !== 'object' || document === null) return document;
  return Object.fromEntries(
    Object.entries(document).map(([key, value]) => {
      if (key === 'metadata') return [key, null];
      return [key, key === 'customer' ? nobody(value, customerId) : withoutPerson(value, customerId)];
    }),
  );
}

const PERSONAL = new Set(['name', 'email', 'avatar', 'externalId', 'stripeCustomerId', 'country']);

function nobody(customer: unknown, customerId: string): unknown {
  if (typeof customer !== 'object' || customer === null) return customer;
  return Object.fromEntries(
    Object.entries(customer).map(([key, value]) => {
      if (key === 'externalId') return [key, customerId];
      return [key, PERSONAL.has(key) ? (NOBODY[key] ?? null) : value];
    }),
  );
}

const MANNERS = [
  'Amber',
  'Brave',
  'Bright',
  'Calm',
  'Clever',
  'Coral',
  'Cosy',
  'Daring',
  'Early',
  'Fair',
  'Gentle',
  'Golden',
  'Happy',
  'Honest',
  'Jolly',
  'Keen',
  'Kind',
  'Lively',
  'Lucky',
  'Mellow',
  'Merry',
  'Noble',
  'Patient',
  'Proud',
  'Quick',
  'Quiet',
  'Silver',
  'Sunny',
  'Swift',
  'Warm',
  'Wise',
  'Witty',
] as const;

const CREATURES = [
  'Badger',
  'Beaver',
  'Bison',
  'Crane',
  'Dolphin',
  'Falcon',
  'Ferret',
  'Finch',
  'Fox',
  'Gecko',
  'Hare',
  'Hedgehog',
  'Heron',
  'Ibis',
  'Kestrel',
  'Lark',
  'Lynx',
  'Magpie',
  'Marten',
  'Otter',
  'Owl',
  'Panda',
  'Pelican',
  'Penguin',
  'Puffin',
  'Raven',
  'Robin',
  'Seal',
  'Sparrow',
  'Stork',
  'Swan',
  'Wren',
] as const;

function generatedName(id: string): string {
  const number = hashOf(id);
  const manner = MANNERS[number % MANNERS.length];
  const creature = CREATURES[Math.floor(number / MANNERS.length) % CREATURES.length];
  return `${manner} ${creature}`;
}

/** FNV-1a: spreads ids that differ in their last letters only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}
