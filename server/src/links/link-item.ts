// One link of a call on its way through the rules: what was asked, what it was before, what it is to become. Items
// fail one by one; what has failed takes no further step.
import { type LinkDomain, namesOf } from '../domains/domain.ts';
import { AppError } from '../kernel/errors.ts';
import { EMPTY_FIELDS, type Link, type LinkFields, type LinkTag } from './link.ts';
import type { LinkDraft } from './link-draft.ts';
import { keySlot } from './link-key.ts';

export interface Item {
  readonly draft: LinkDraft;
  readonly existing: Link | undefined;
  /** Tags by id and tags by name add up, instead of ids winning. */
  readonly addUpTags: boolean;
  readonly fields: LinkFields;
  domain: LinkDomain | undefined;
  /** The key is to be made up, behind this prefix. */
  random: boolean;
  prefix: string | undefined;
  /** Undefined: the tags stay as they are. */
  tags: readonly LinkTag[] | undefined;
  /** Undefined: the webhooks stay as they are. */
  webhookIds: readonly string[] | undefined;
  error: AppError | undefined;
}

/** A draft that could not even be read is an item that has failed already. */
export function newItem(draft: LinkDraft | AppError, existing?: Link, addUpTags = false): Item {
  const error = draft instanceof AppError ? draft : undefined;
  return {
    draft: draft instanceof AppError ? {} : draft,
    existing,
    addUpTags,
    fields: { ...EMPTY_FIELDS, ...(existing && pickFields(existing)) },
    domain: undefined,
    random: false,
    prefix: undefined,
    tags: undefined,
    webhookIds: undefined,
    error,
  };
}

function pickFields(link: Link): LinkFields {
  return Object.fromEntries(
    Object.keys(EMPTY_FIELDS).map((name) => [name, link[name as keyof LinkFields]]),
  ) as unknown as LinkFields;
}

/** Takes one step with each item; a refusal becomes the item's own error. */
export async function attempt(items: readonly Item[], step: (item: Item) => Promise<void>): Promise<void> {
  for (const item of items) {
    if (item.error) continue;
    try {
      await step(item);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      item.error = error;
    }
  }
}

/** Whether the key is new to the link: then it must be free. */
export function changesKey({ existing, fields, domain, random }: Item): boolean {
  if (random || !domain) return false;
  return (
    !existing || !isOn(existing, domain) || keySlot(domain, existing.key) !== keySlot(domain, fields.key)
  );
}

/** Whether the link is on the domain, under its name or the one before. */
export function isOn(link: Link, domain: LinkDomain): boolean {
  return namesOf(domain).includes(link.domain);
}
