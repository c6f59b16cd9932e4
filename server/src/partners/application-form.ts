// The form that people fill in to join a group: which fields it has, and how what was filled in is read.
import { z } from 'zod';
import { invalid } from '../kernel/errors.ts';

export const FORM_FIELD_TYPES = [
  'short-text',
  'long-text',
  'select',
  'multiple-choice',
  'image-upload',
  'website-and-socials',
] as const;

export const SOCIAL_FIELDS = ['website', 'youtube', 'twitter', 'linkedin', 'instagram', 'tiktok'] as const;
export type SocialField = (typeof SOCIAL_FIELDS)[number];

const MAX_FIELDS = 50;
const MAX_OPTIONS = 100;
const DEFAULT_LENGTHS = { 'short-text': 500, 'long-text': 5_000 } as const;

export const formFieldSchema = z
  .object({
    id: z.string().trim().min(1).max(100).describe('Unique in the form; answers are given by it.'),
    type: z.enum(FORM_FIELD_TYPES),
    label: z.string().trim().min(1).max(500),
    required: z.boolean().default(false),
    multiple: z.boolean().optional().describe('For multiple-choice: more than one may be chosen.'),
    options: z
      .array(z.string().trim().min(1).max(190))
      .min(1)
      .max(MAX_OPTIONS)
      .optional()
      .describe('For select and multiple-choice.'),
    maxLength: z.int().min(1).max(5_000).optional().describe('For texts.'),
  })
  .superRefine((field, context) => {
    const chosen = field.type === 'select' || field.type === 'multiple-choice';
    if (chosen && !field.options) {
      context.addIssue({ code: 'custom', path: ['options'], message: `a ${field.type} needs options` });
    }
  });

export const applicationFormSchema = z
  .object({ fields: z.array(formFieldSchema).max(MAX_FIELDS) })
  .superRefine(({ fields }, context) => {
    const seen = new Set<string>();
    for (const [index, { id }] of fields.entries()) {
      if (seen.has(id)) {
        context.addIssue({ code: 'custom', path: ['fields', index, 'id'], message: 'is used twice' });
      }
      seen.add(id);
    }
  });

export type FormField = z.output<typeof formFieldSchema>;
export type ApplicationForm = z.output<typeof applicationFormSchema>;

/** What a form was answered with, as it is kept: the label as it was then, several choices joined. */
export interface FormAnswer {
  readonly id: string;
  readonly type: FormField['type'];
  readonly label: string;
  readonly value: string | null;
}

export type RawAnswers = Readonly<Record<string, string | readonly string[] | null>>;
export type Socials = Partial<Record<SocialField, string>>;

/** Refuses what does not fit the form, naming the field; answers to fields that the form lacks are ignored. */
export function readAnswers(form: ApplicationForm, answers: RawAnswers): FormAnswer[] {
  return form.fields
    .filter(({ type }) => type !== 'website-and-socials')
    .map((field) => ({
      id: field.id,
      type: field.type,
      label: field.label,
      value: readAnswer(field, Object.hasOwn(answers, field.id) ? (answers[field.id] ?? null) : null),
    }));
}

function readAnswer(field: FormField, given: string | readonly string[] | null): string | null {
  const path = `answers.${field.id}`;
  const values = (given === null ? [] : Array.isArray(given) ? given : [given as string])
    .map((value: string) => value.trim())
    .filter((value: string) => value !== '');
  if (values.length === 0) {
    if (field.required) throw invalid(path, 'an answer is required');
    return null;
  }
  if (values.length > 1 && !(field.type === 'multiple-choice' && field.multiple)) {
    throw invalid(path, 'takes one answer');
  }
  const stranger = field.options && values.find((value) => !field.options?.includes(value));
  if (stranger !== undefined) throw invalid(path, `${stranger} is not one of the options`);
  return checkedLength(field, path, values.join(', '));
}

function checkedLength({ type, maxLength }: FormField, path: string, value: string): string {
  const max = maxLength ?? (type === 'short-text' ? DEFAULT_LENGTHS[type] : DEFAULT_LENGTHS['long-text']);
  if (value.length > max && (type === 'short-text' || type === 'long-text' || type === 'image-upload')) {
    throw invalid(path, `must have at most ${max} characters`);
  }
  return value;
}

/** Addresses and handles for the form's field of this kind; required there means at least one. */
export function readSocials(form: ApplicationForm, socials: Socials): Socials {
  const field = form.fields.find(({ type }) => type === 'website-and-socials');
  if (!field) return {};
  const given = Object.fromEntries(
    SOCIAL_FIELDS.flatMap((name) => (socials[name]?.trim() ? [[name, socials[name]?.trim()]] : [])),
  ) as Socials;
  if (field.required && Object.keys(given).length === 0) {
    throw invalid(
      'socials',
      'at least one of website, youtube, twitter, linkedin, instagram, tiktok is required',
    );
  }
  return given;
}
