// Work that has to be done on every member of something large, in their order and in small steps: the first in the
// transaction that asks for it, the rest by a job. How far it is stands beside it, so that a job that died goes on
// where it was; a step whose transaction was lost is done again.
import type { Database } from './database.ts';

export type WalkKind = 'default-link' | 'default-link-gone' | 'discount-codes';

/** Works on at most `limit` members after this one; returns the last, and undefined when there are no more. */
export type WalkStep = (
  workspaceId: string,
  target: string,
  after: string,
  limit: number,
) => Promise<string | undefined>;

export interface Walk {
  /** Call it in the transaction of the change that makes it necessary. The target has no space in it. */
  begin(workspaceId: string, target: string, nowMs: number): Promise<void>;
  /** Goes on with everything begun, until it is done or the signal says stop. */
  run(signal: AbortSignal): Promise<void>;
}

interface Place {
  readonly workspaceId: string;
  readonly target: string;
  readonly after: string;
  readonly createdAt: number;
}

export function createWalk(parts: {
  db: Database;
  kind: WalkKind;
  step: WalkStep;
  membersPerStep: number;
}): Walk {
  const { db, kind, step, membersPerStep } = parts;
  const textOf = ({ target, after }: Place) => `${target} ${after}`;

  async function findFirst(): Promise<Place | undefined> {
    const row = await db.query
      .selectFrom('cleanup')
      .selectAll()
      .where('kind', '=', kind)
      .orderBy('created_at')
      .orderBy('target')
      .limit(1)
      .executeTakeFirst();
    if (!row) return undefined;
    const end = row.target.indexOf(' ');
    return {
      workspaceId: row.workspace_id,
      target: row.target.slice(0, end),
      after: row.target.slice(end + 1),
      createdAt: row.created_at,
    };
  }

  /** One step from there, and where the next one begins. */
  async function advance(from: Place): Promise<void> {
    const { workspaceId, target, after, createdAt } = from;
    const last = await step(workspaceId, target, after, membersPerStep);
    if (last === undefined) return;
    await db.query
      .insertInto('cleanup')
      .values({
        kind,
        target: textOf({ ...from, after: last }),
        workspace_id: workspaceId,
        created_at: createdAt,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  return {
    begin: (workspaceId, target, nowMs) => advance({ workspaceId, target, after: '', createdAt: nowMs }),

    async run(signal) {
      while (!signal.aborted) {
        const place = await findFirst();
        if (!place) return;
        await db.write(async (trx) => {
          await trx
            .deleteFrom('cleanup')
            .where('kind', '=', kind)
            .where('target', '=', textOf(place))
            .execute();
          await advance(place);
        });
      }
    },
  };
}
