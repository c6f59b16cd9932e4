// People, workspaces, who belongs to them, and their keys, as lines of a dump.
import { sql } from 'kysely';
import { z } from 'zod';
import { hashKey, partialKey } from '../access/token.ts';
import type { Database } from '../db/database.ts';
import { PLANS, ROLES } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { IP_PRIVACY } from '../kernel/ip-privacy.ts';
import { ATTRIBUTION, LIMITS } from '../workspaces/workspace.ts';
import type { Entity } from './entity.ts';
import {
  count,
  countOrNull,
  type FileAddresses,
  flag,
  id,
  idOrNull,
  image,
  json,
  oneOf,
  text,
  textOrNull,
  timeOrNull,
  times,
  words,
} from './field.ts';
import type { DraftRow } from './record.ts';
import { tableEntity } from './table-entity.ts';

const limits = z.partialRecord(z.enum(LIMITS), z.int().min(0));
const hostnames = z.array(z.string().max(255)).max(100);

export function accountEntities(parts: { db: Database; clock: Clock; files: FileAddresses }): Entity[] {
  return [
    tableEntity(parts, {
      name: 'user',
      table: 'user',
      fields: {
        id: id(),
        name: textOrNull(),
        email: textOrNull(320),
        image: image(parts.files),
        isMachine: flag(),
        ...times(),
      },
      unique: [{ field: 'email', columns: ['email'] }],
      imageFields: ['image'],
      ofWorkspace: (workspaceId) =>
        sql`id in (select user_id from member where workspace_id = ${workspaceId})`,
    }),
    tableEntity(parts, {
      name: 'workspace',
      table: 'workspace',
      workspaceColumn: 'id',
      fields: {
        id: id(),
        name: text(),
        slug: text(190),
        logo: image(parts.files),
        plan: oneOf(PLANS, 'enterprise'),
        defaultProduct: oneOf(['links', 'program'], 'links'),
        defaultProgramId: idOrNull(),
        inviteCode: textOrNull(255),
        publishableKey: textOrNull(255),
        conversionEnabled: flag(),
        webhookEnabled: flag(),
        allowedHostnames: json(hostnames, []),
        limits: json(limits, {}),
        ipPrivacy: oneOf(IP_PRIVACY, 'standard'),
        attribution: oneOf(ATTRIBUTION, 'last_click'),
        attributionDays: countOrNull(),
        eventsUsage: count(),
        linksUsage: count(),
        usageMonth: count(),
        payoutsUsage: count(),
        totalClicks: count(),
        ...times(),
      },
      unique: [
        { field: 'slug', columns: ['slug'] },
        { field: 'inviteCode', columns: ['invite_code'] },
        { field: 'publishableKey', columns: ['publishable_key'] },
      ],
      imageFields: ['logo'],
    }),
  ];
}

/** Those that refer to the ones above and to folders. */
export function membershipEntities(parts: { db: Database; clock: Clock }): Entity[] {
  return [
    tableEntity(parts, {
      name: 'member',
      table: 'member',
      key: ['userId', 'workspaceId'],
      fields: {
        userId: id(),
        workspaceId: id(),
        role: oneOf(ROLES),
        defaultFolderId: idOrNull(),
        ...times(),
      },
      references: { userId: 'user', workspaceId: 'workspace', defaultFolderId: 'folder' },
    }),
    tableEntity(parts, {
      name: 'key',
      table: 'token',
      fields: {
        id: id(),
        workspaceId: id(),
        userId: id(),
        name: text(),
        hashedKey: text(64),
        partialKey: text(64),
        scopes: words(),
        expiresAt: timeOrNull(),
        lastUsedAt: timeOrNull(),
        ...times(),
      },
      check: withPlainKey,
      references: { userId: 'user', workspaceId: 'workspace' },
      unique: [{ field: 'hashedKey', columns: ['hashed_key'] }],
    }),
  ];
}

const plainKey = z.string().min(1).max(1_000);
const hashedKey = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key, in 64 small hexadecimal digits');

/** A key comes hashed, as we export it, or as it is (`key`), whatever its form: then it is hashed here. */
function withPlainKey(schema: z.ZodType<DraftRow>): z.ZodType<DraftRow> {
  const source = z
    .looseObject({ key: plainKey.optional(), hashedKey: hashedKey.optional() })
    .transform((line, context) => {
      const { key, ...rest } = line;
      if (key === undefined && rest.hashedKey === undefined) {
        context.addIssue({ code: 'custom', path: ['key'], message: 'key or hashedKey is needed' });
      }
      if (key === undefined) return rest;
      if (rest.hashedKey !== undefined && rest.hashedKey !== hashKey(key)) {
        context.addIssue({ code: 'custom', path: ['hashedKey'], message: 'is not the SHA-256 of key' });
      }
      return { partialKey: partialKey(key), ...rest, hashedKey: hashKey(key) };
    });
  return source.pipe(schema as z.ZodType<DraftRow, Record<string, unknown>>);
}
