// An application as clients and receivers of webhooks see it.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import type { ShownApplication } from './applications.ts';
import { ENROLMENT_STATUSES } from './enrolment-states.ts';
import { displayName } from './partner.ts';

const textOrNull = z.string().nullable();

export const applicationSchema = z
  .object({
    id: z.string(),
    createdAt: z.iso.datetime(),
    partner: z.object({
      id: z.string(),
      name: z.string(),
      companyName: textOrNull,
      email: textOrNull,
      image: textOrNull,
      description: textOrNull,
      country: textOrNull,
      groupId: textOrNull,
      status: z.enum(ENROLMENT_STATUSES),
      website: textOrNull,
      youtube: textOrNull,
      twitter: textOrNull,
      linkedin: textOrNull,
      instagram: textOrNull,
      tiktok: textOrNull,
    }),
    applicationFormData: z.array(z.object({ label: z.string(), value: textOrNull })).nullable(),
  })
  .meta({ id: 'PartnerApplication', description: 'An application to the program.' });

export function presentApplication({
  application,
  partner,
  enrolment,
}: ShownApplication): z.input<typeof applicationSchema> {
  const { companyName, email, image, description, country } = partner;
  const { website, youtube, twitter, linkedin, instagram, tiktok } = partner;
  return {
    id: application.id,
    createdAt: isoTime(application.createdAt),
    partner: {
      id: partner.id,
      name: displayName(partner),
      companyName,
      email,
      image,
      description,
      country,
      groupId: enrolment.groupId,
      status: enrolment.status,
      website,
      youtube,
      twitter,
      linkedin,
      instagram,
      tiktok,
    },
    applicationFormData:
      application.formData?.map(({ type, label, value }) => ({
        label,
        // Addresses of uploaded pictures are for whoever decides, and not for lists.
        value: type === 'image-upload' ? null : value,
      })) ?? null,
  };
}
