// Finds the few rows of a table that may contain a text, by the three-letter pieces of it. On SQLite the index
// is fed in the background, and what it does not know yet counts as found; on PostgreSQL it is a plain index.
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { containsPattern } from './like.ts';

/** Beyond so many, going through the rows in their order finds a page sooner. */
const MAX_CANDIDATES = 20_000;
const PIECE = 3;
/** Enough to leave few rows over that only seem to match; the rarest piece decides how long it takes. */
const MAX_PIECES = 40;
/** Small enough that other writes wait for a step no longer than they notice. */
const ROWS_PER_STEP = 100;

/** The table has a `seq`, a `search_text`, and what its migration made beside it under names that begin with its own. */
export function createTextSearch(db: Database, table: 'link' | 'customer') {
  const rowsOf = sql.table(table);
  const index = sql.table(`${table}_search`);
  const queue = sql.table(`${table}_search_queue`);

  async function fewerThan(most: number, source: RawBuilder<unknown>): Promise<boolean> {
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from (${source} limit ${most}) as found`.execute(db.query);
    return (rows[0]?.count ?? 0) < most;
  }

  async function indexSome(): Promise<number> {
    return db.write(async (trx) => {
      const { rows } = await sql<{
        seq: number;
      }>`select seq from ${queue} order by seq limit ${ROWS_PER_STEP}`.execute(trx);
      if (rows.length === 0) return 0;
      const seqs = sql.join(rows.map(({ seq }) => seq));
      await sql`delete from ${index} where rowid in (${seqs})`.execute(trx);
      await sql`insert into ${index} (rowid, text) select seq, search_text from ${rowsOf} where seq in (${seqs})`.execute(
        trx,
      );
      await sql`delete from ${queue} where seq in (${seqs})`.execute(trx);
      return rows.length;
    });
  }

  return {
    /** A query for the `seq` of rows that may match, among them all that do; undefined when that would be too many. */
    async findCandidates(search: string): Promise<RawBuilder<unknown> | undefined> {
      const folded = search.toLowerCase();
      const pieces = piecesOf(folded);
      if (pieces.length === 0) return undefined;
      if (db.engine === 'postgres') {
        const found = sql`select ${sql.ref(`${table}_search`)} as seq from ${index}(${containsPattern(folded)}, ${MAX_CANDIDATES + 1})`;
        return (await fewerThan(MAX_CANDIDATES, found)) ? found : undefined;
      }
      const found = sql`select rowid as seq from ${index} where ${index} match ${pieces.map(quoted).join(' AND ')}`;
      const unknown = sql`select seq from ${queue}`;
      const few = (await fewerThan(MAX_CANDIDATES, found)) && (await fewerThan(MAX_CANDIDATES, unknown));
      return few ? sql`${found} union ${unknown}` : undefined;
    },

    /** Brings the index up to date; for a job. */
    async index(signal: AbortSignal): Promise<void> {
      if (db.engine === 'postgres') return;
      while (!signal.aborted && (await indexSome()) > 0);
    },
  };
}

export type TextSearch = ReturnType<typeof createTextSearch>;

/** Pieces of the text, spread over all of it; none when it is too short. */
function piecesOf(text: string): string[] {
  const letters = [...text];
  const all = letters.slice(PIECE - 1).map((_, index) => letters.slice(index, index + PIECE).join(''));
  const step = Math.max(1, (all.length - 1) / (MAX_PIECES - 1));
  const spread = Array.from(
    { length: Math.min(all.length, MAX_PIECES) },
    (_, index) => all[Math.round(index * step)] as string,
  );
  return [...new Set(spread)];
}

function quoted(piece: string): string {
  return `"${piece.replaceAll('"', '""')}"`;
}
