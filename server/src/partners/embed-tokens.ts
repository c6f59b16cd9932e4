// Tokens that let a partner see its own side of the program on a page of the seller's: given out to the seller's
// server, good for three hours, and for nothing that is not the partner's.
import type { Database } from '../db/database.ts';
import type { Actor, PartnerActor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { randomText, sha256Hex } from '../kernel/ids.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { EmbedTokenStore } from './embed-token.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { PartnerWish } from './enrolments.ts';
import type { NewPartner, Partners } from './partners.ts';
import { type Program, programActor } from './program.ts';
import type { Programs } from './programs.ts';

export const EMBED_TOKEN_PREFIX = 'lt_embed_';

const LIFETIME_MS = 3 * 3_600_000;
const ROWS_PER_STEP = 1_000;

export interface EmbedTokensParts {
  readonly db: Database;
  readonly store: EmbedTokenStore;
  readonly programs: Programs;
  readonly partners: Pick<Partners, 'create'>;
  readonly enrolments: Pick<EnrolmentStore, 'findByPartner' | 'findByTenant'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
}

/** An existing partner, or one who becomes a partner now. */
export interface EmbedTokenRequest extends PartnerWish {
  readonly partner?: NewPartner | undefined;
}

export function createEmbedTokens(parts: EmbedTokensParts) {
  const { db, store, programs, partners, enrolments, workspaces, clock } = parts;

  async function findPartner(program: Program, request: EmbedTokenRequest): Promise<string | undefined> {
    const { partnerId, partner } = request;
    const tenantId = request.tenantId ?? partner?.tenantId ?? partner?.linkProps?.tenantId;
    const found = partnerId
      ? await enrolments.findByPartner(program.id, partnerId)
      : tenantId
        ? await enrolments.findByTenant(program.id, tenantId)
        : undefined;
    return found?.partnerId;
  }

  async function findOrCreate(actor: Actor, program: Program, request: EmbedTokenRequest): Promise<string> {
    const found = await findPartner(program, request);
    if (found) return found;
    if (!request.partner) throw new AppError('not_found', 'There is no such partner in this program.');
    const { tenantId = request.partner.tenantId } = request;
    const made = await partners.create(actor, { ...request.partner, ...(tenantId && { tenantId }) });
    return made.partner.id;
  }

  return {
    /** The token is shown this once. */
    async create(
      actor: Actor,
      request: EmbedTokenRequest,
    ): Promise<{ publicToken: string; expiresAt: number }> {
      if (!request.partnerId && !request.tenantId && !request.partner) {
        throw invalid('partnerId', 'give partnerId, tenantId or partner');
      }
      const program = await programs.getOfWorkspace(actor.workspaceId);
      const partnerId = await findOrCreate(actor, program, request);
      const nowMs = clock.now();
      const publicToken = `${EMBED_TOKEN_PREFIX}${randomText(32)}`;
      const expiresAt = nowMs + LIFETIME_MS;
      const { id: programId, workspaceId } = program;
      const hashedToken = sha256Hex(publicToken);
      await db.write(() =>
        store.insert({ hashedToken, programId, workspaceId, partnerId, expiresAt, createdAt: nowMs }),
      );
      return { publicToken, expiresAt };
    },

    /** Whose token it is. Those who were banned or are no longer in the program are nobody. */
    async authenticate(publicToken: string): Promise<PartnerActor> {
      const token = await store.find(sha256Hex(publicToken));
      const enrolment = token && (await enrolments.findByPartner(token.programId, token.partnerId));
      if (!token || !enrolment || enrolment.status === 'banned') {
        throw new AppError('unauthorized', 'This embed token is not valid.');
      }
      if (token.expiresAt <= clock.now()) {
        throw new AppError('unauthorized', 'This embed token has expired.');
      }
      const { programId, partnerId, workspaceId } = token;
      const actor = programActor(await workspaces.get(workspaceId));
      const tokenId = `embed ${programId} ${partnerId}`;
      return { ...actor, role: 'viewer', tokenId, programId, partnerId };
    },

    /** Removes those that have expired; for a job. */
    async prune(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const gone = await db.write(() => store.deleteExpired(clock.now(), ROWS_PER_STEP));
        if (gone < ROWS_PER_STEP) return;
      }
    },
  };
}

export type EmbedTokens = ReturnType<typeof createEmbedTokens>;
