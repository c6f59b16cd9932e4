// Parts of texts of customers: their names, e-mail addresses and external ids, folded, in `search_text`.
import type { EngineWords } from '../migrate.ts';

export function customerSearchStatements(engine: EngineWords['engine']): string[] {
  return engine === 'sqlite' ? SQLITE : POSTGRES;
}

/** Text goes into the index in the background: doing it at once would cost more than the insert itself. */
const SQLITE = [
  `create virtual table customer_search using fts5(text, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1')`,
  'create table customer_search_queue (seq integer primary key) strict',
  `create trigger customer_inserted after insert on customer begin
    insert into customer_search_queue (seq) values (new.seq);
  end`,
  `create trigger customer_text_changed after update of search_text on customer when old.search_text is not new.search_text begin
    insert into customer_search_queue (seq) values (new.seq) on conflict do nothing;
  end`,
  // What is left of a deleted one must not be found by its letters, not even for a moment.
  `create trigger customer_deleted after delete on customer begin
    delete from customer_search_queue where seq = old.seq;
    delete from customer_search where rowid = old.seq;
  end`,
];

const POSTGRES = [
  `do $body$ declare place text; begin
    select n.nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
    execute format('create index customer_search on customer using gin (search_text %I.gin_trgm_ops)', place);
  end $body$`,
  // Estimates for patterns are guesses: without this a rare text may be looked for in the whole table.
  `create function customer_search(pattern text, most bigint) returns setof bigint language plpgsql stable
    set enable_seqscan = off set enable_indexscan = off as $body$
    begin return query select seq from customer where search_text like pattern escape '\\' limit most; end $body$`,
];
