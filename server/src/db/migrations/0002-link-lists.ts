// What lists of links need beside the links themselves: counters that are exact at any time, kept by triggers
// so that no writer can forget them, and an index of text for substring search. See docs/adr/0010.
import type { EngineWords } from '../migrate.ts';

const KEY = 'workspace_id, dimension, value, folder_id, archived';

/** Indexes that deliver a list in its order. `folder_id` rides along where a walk has to look at it. */
const INDEXES = [
  'create index link_by_created on link (workspace_id, archived, created_at, id, folder_id)',
  'create index link_by_folder on link (workspace_id, folder_id, archived, created_at, id)',
  'create index link_by_domain on link (workspace_id, domain, archived, created_at, id)',
  'create index link_by_user on link (workspace_id, user_id, archived, created_at, id)',
  'create index link_by_tenant on link (workspace_id, tenant_id, archived, created_at, id) where tenant_id is not null',
  'create index link_by_clicks on link (workspace_id, archived, clicks, created_at, id, folder_id)',
  'create index link_by_sale_amount on link (workspace_id, archived, sale_amount, created_at, id, folder_id)',
  'create index link_by_last_clicked on link (workspace_id, archived, last_clicked_at, created_at, id, folder_id)',
  'create index links_of_tag on link_tag (tag_id, archived, created_at, link_id)',
];

export function linkListStatements(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  const sqlite = words.engine === 'sqlite';
  const table = `create table link_count (
    workspace_id ${text} not null,
    dimension ${text} not null,
    value ${text} not null,
    folder_id ${text} not null,
    archived ${integer} not null,
    links ${integer} not null,
    primary key (${KEY})
  ) ${sqlite ? `${tableEnd}, without rowid` : tableEnd}`;
  return [...INDEXES, table, ...(sqlite ? SQLITE : POSTGRES)];
}

/** Adds these parts (key columns and a signed `n`) to the counters, in one order for everybody. */
function add(parts: string): string {
  return `insert into link_count (${KEY}, links)
    select ${KEY}, sum(n) from (${parts}) as part where true
    group by ${KEY} having sum(n) <> 0 order by ${KEY}
    on conflict (${KEY}) do update set links = link_count.links + excluded.links`;
}

/** What a link counts towards by its own columns. */
function ofLink(link: string, n: 1 | -1, from = ''): string {
  const values = `(values ('all', ''), ('domain', ${link}.domain), ('user', coalesce(${link}.user_id, '')), ('tenant', ${link}.tenant_id))`;
  return `select ${link}.workspace_id as workspace_id, column1 as dimension, column2 as value,
    coalesce(${link}.folder_id, '') as folder_id, ${link}.archived as archived, ${n} as n
    from ${from}${values} as counted where column2 is not null`;
}

/** What a link counts towards by its tags; `tag` is the source of (link_id, tag_id) pairs. */
function ofTags(link: string, n: 1 | -1, dimension: 'tag' | 'tagged', from: string): string {
  return `select ${link}.workspace_id as workspace_id, '${dimension}' as dimension, ${dimension === 'tag' ? 'pair.tag_id' : "''"} as value,
    coalesce(${link}.folder_id, '') as folder_id, ${link}.archived as archived, ${n} as n from ${from}`;
}

/** Counters nobody needs any more; `where` names them by their whole key. */
const dropEmpty = (where: string) => `delete from link_count where links = 0 and ${where}`;

const SAME_LINK = `link_count.workspace_id = old.workspace_id and link_count.folder_id = coalesce(old.folder_id, '') and link_count.archived = old.archived`;
const dropEmptyOfLink = [
  ['all', "''"],
  ['domain', 'old.domain'],
  ['user', "coalesce(old.user_id, '')"],
  ['tenant', 'old.tenant_id'],
]
  .map(
    ([dimension, value]) =>
      `${dropEmpty(`${SAME_LINK} and dimension = '${dimension}' and value = ${value}`)};`,
  )
  .join('\n');
const dropEmptyOfTags = `${dropEmpty(`${SAME_LINK} and dimension = 'tagged' and value = ''`)};
  ${dropEmpty(`${SAME_LINK} and dimension = 'tag' and value in (select tag_id from link_tag where link_id = old.id)`)};`;

const COUNTED_COLUMNS = 'workspace_id, domain, user_id, tenant_id, folder_id, archived';
const differs = (columns: string[], from: string, to: string, distinct: string) =>
  columns.map((column) => `${from}.${column} ${distinct} ${to}.${column}`).join(' or ');
const COUNTED = COUNTED_COLUMNS.split(', ');

/** Rows, one by one: SQLite has no other triggers. */
const SQLITE = [
  // Text goes into the index in the background: doing it at once would treble the cost of an insert.
  `create virtual table link_search using fts5(text, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1')`,
  'create table link_search_queue (seq integer primary key) strict',
  // Plain rows of values: a query in this place would cost as much as the insert itself.
  `create trigger link_inserted after insert on link begin
    insert into link_count (${KEY}, links) values
      (new.workspace_id, 'all', '', coalesce(new.folder_id, ''), new.archived, 1),
      (new.workspace_id, 'domain', new.domain, coalesce(new.folder_id, ''), new.archived, 1),
      (new.workspace_id, 'user', coalesce(new.user_id, ''), coalesce(new.folder_id, ''), new.archived, 1)
      on conflict (${KEY}) do update set links = links + 1;
    insert into link_search_queue (seq) values (new.seq);
  end`,
  `create trigger link_inserted_for_tenant after insert on link when new.tenant_id is not null begin
    insert into link_count (${KEY}, links) values (new.workspace_id, 'tenant', new.tenant_id, coalesce(new.folder_id, ''), new.archived, 1)
      on conflict (${KEY}) do update set links = links + 1;
  end`,
  `create trigger link_recounted after update of ${COUNTED_COLUMNS} on link
    when ${differs(COUNTED, 'old', 'new', 'is not')} begin
    ${add(
      [
        ofLink('old', -1),
        ofLink('new', 1),
        ofTags('old', -1, 'tag', 'link_tag as pair where pair.link_id = old.id'),
        ofTags('new', 1, 'tag', 'link_tag as pair where pair.link_id = new.id'),
        ofTags(
          'old',
          -1,
          'tagged',
          '(select 1) as one where exists (select 1 from link_tag where link_id = old.id)',
        ),
        ofTags(
          'new',
          1,
          'tagged',
          '(select 1) as one where exists (select 1 from link_tag where link_id = new.id)',
        ),
      ].join(' union all '),
    )};
    ${dropEmptyOfLink}
    ${dropEmptyOfTags}
    update link_tag set archived = new.archived where link_id = new.id and archived <> new.archived;
  end`,
  `create trigger link_text_changed after update of domain, key, url, url_folded on link
    when ${differs(['domain', 'key', 'url', 'url_folded'], 'old', 'new', 'is not')} begin
    insert into link_search_queue (seq) values (new.seq) on conflict do nothing;
  end`,
  // Its tags go first, while the counters they belong to can still be told.
  `create trigger link_leaves_tags before delete on link begin
    delete from link_tag where link_id = old.id;
  end`,
  `create trigger link_deleted after delete on link begin
    ${add(ofLink('old', -1))};
    ${dropEmptyOfLink}
    insert into link_search_queue (seq) values (old.seq) on conflict do nothing;
  end`,
  `create trigger link_tagged after insert on link_tag begin
    ${add(`${ofTags('link', 1, 'tag', 'link, (select new.tag_id as tag_id) as pair where link.id = new.link_id')} union all
      ${ofTags('link', 1, 'tagged', 'link where link.id = new.link_id and (select count(*) from link_tag where link_id = new.link_id) = 1')}`)};
  end`,
  `create trigger link_untagged after delete on link_tag begin
    ${add(`${ofTags('link', -1, 'tag', 'link, (select old.tag_id as tag_id) as pair where link.id = old.link_id')} union all
      ${ofTags('link', -1, 'tagged', 'link where link.id = old.link_id and not exists (select 1 from link_tag where link_id = old.link_id)')}`)};
    delete from link_count where links = 0 and dimension = 'tag' and value = old.tag_id
      and workspace_id = (select workspace_id from link where id = old.link_id);
    delete from link_count where links = 0 and dimension = 'tagged' and value = ''
      and workspace_id = (select workspace_id from link where id = old.link_id);
  end`,
];

const trigger = (name: string, event: string, tables: string, body: string) => [
  `create function ${name}() returns trigger language plpgsql as $body$ begin ${body} return null; end $body$`,
  `create trigger ${name} after ${event} referencing ${tables} for each statement execute function ${name}()`,
];

const dropEmptyOf = (keys: string) => `${dropEmpty(`(${KEY}) in (select ${KEY} from (${keys}) as part)`)};`;
const eachLink = (rows: string, n: 1 | -1) => ofLink('link', n, `${rows} as link cross join lateral `);
const eachTag = (rows: string, n: 1 | -1) =>
  ofTags('link', n, 'tag', `${rows} as link join link_tag as pair on pair.link_id = link.id`);
const eachTagged = (rows: string, n: 1 | -1) =>
  ofTags(
    'link',
    n,
    'tagged',
    `${rows} as link where exists (select 1 from link_tag where link_id = link.id)`,
  );
const CHANGED = (rows: string) => `(select ${rows}.* from old_rows join new_rows using (seq)
  where ${differs(COUNTED, 'old_rows', 'new_rows', 'is distinct from')})`;
const OLD_PARTS = [eachLink, eachTag, eachTagged].map((part) => part(CHANGED('old_rows'), -1));
const NEW_PARTS = [eachLink, eachTag, eachTagged].map((part) => part(CHANGED('new_rows'), 1));
const UNTAGGED = `${ofTags('link', -1, 'tag', 'old_rows as pair join link on link.id = pair.link_id')} union all
  ${ofTags('link', -1, 'tagged', 'link where id in (select link_id from old_rows) and not exists (select 1 from link_tag where link_id = link.id)')}`;

/** Statements as a whole: a change of many rows touches each counter once. */
const POSTGRES = [
  ...trigger('link_inserted', 'insert on link', 'new table as new_rows', `${add(eachLink('new_rows', 1))};`),
  // Most updates are of click counts: those end at the first look.
  ...trigger(
    'link_recounted',
    'update on link',
    'old table as old_rows new table as new_rows',
    `if exists (select 1 from ${CHANGED('new_rows')} as changed) then
      ${add([...OLD_PARTS, ...NEW_PARTS].join(' union all '))};
      ${dropEmptyOf(OLD_PARTS.join(' union all '))}
      update link_tag set archived = new_rows.archived from new_rows
        where link_tag.link_id = new_rows.id and link_tag.archived <> new_rows.archived;
    end if;`,
  ),
  `create function link_leaves_tags() returns trigger language plpgsql as $body$
    begin delete from link_tag where link_id = old.id; return old; end $body$`,
  'create trigger link_leaves_tags before delete on link for each row execute function link_leaves_tags()',
  ...trigger(
    'link_deleted',
    'delete on link',
    'old table as old_rows',
    `${add(eachLink('old_rows', -1))}; ${dropEmptyOf(eachLink('old_rows', -1))}`,
  ),
  ...trigger(
    'link_tagged',
    'insert on link_tag',
    'new table as new_rows',
    `${add(`${ofTags('link', 1, 'tag', 'new_rows as pair join link on link.id = pair.link_id')} union all
      ${ofTags(
        'link',
        1,
        'tagged',
        `(select link_id, count(*) as pairs from new_rows group by link_id) as added join link on link.id = added.link_id
        where pairs = (select count(*) from link_tag where link_id = link.id)`,
      )}`)};`,
  ),
  ...trigger(
    'link_untagged',
    'delete on link_tag',
    'old table as old_rows',
    `${add(UNTAGGED)}; ${dropEmptyOf(UNTAGGED)}`,
  ),
  // Where the extension is installed already, it stays where it is.
  'create extension if not exists pg_trgm schema public',
  `do $body$ declare place text; begin
    select n.nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
    execute format('create index link_search on link using gin (search_text %I.gin_trgm_ops)', place);
  end $body$`,
  // Estimates for patterns are guesses: without this a rare text may be looked for in the whole table.
  `create function link_search(pattern text, most bigint) returns setof bigint language plpgsql stable
    set enable_seqscan = off set enable_indexscan = off as $body$
    begin return query select seq from link where search_text like pattern escape '\\' limit most; end $body$`,
];
