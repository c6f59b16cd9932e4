import { sql } from 'kysely';
import { openTestApp } from './testing/test-app.ts';
import { openProgram } from './testing/program-calls.ts';
import { ENROLMENT_SORTS } from './partners/enrolment-list.store.ts';
const N = 100_000;
const t = await openTestApp(process.env.PG ? { databaseUrl: process.env.PG } : {});
try {
  const p = await openProgram(t);
  const g = p.program.defaultGroupId, pr = p.program.id, w = p.ws.id;
  const series = t.app.db.engine === 'sqlite' ? sql`with recursive s(n) as (select 1 union all select n+1 from s where n < ${sql.lit(N)}) ` : sql`with s(n) as (select generate_series(1, ${sql.lit(N)})) `;
  await t.app.db.write(async (trx) => {
    await sql`insert into partner (id, name, email, email_folded, username, country, search_text, created_at, updated_at) ${series} select 'pn_' || n, 'Person ' || n, 'p' || n || '@x.example', 'p' || n || '@x.example', 'u' || n, case when n % 1000 = 0 then 'SE' else 'DE' end, 'person ' || n || ' p' || n || '@x.example', n, n from s`.execute(trx);
    await sql`insert into enrolment (id, program_id, workspace_id, partner_id, group_id, status, total_clicks, total_leads, total_conversions, total_sales, total_sale_amount, total_commissions, created_at, updated_at) ${series} select 'pge_' || n, ${pr}, ${w}, 'pn_' || n, ${g}, 'approved', n % 977, n % 311, n % 97, n % 53, n % 7919, n % 1009, n, n from s`.execute(trx);
  });
  if (t.app.db.engine === 'postgres') await sql`analyze`.execute(t.app.db.query);
  const time = async (path: string) => { await p.get(path); const s = performance.now(); for (let i=0;i<3;i++) await p.get(path); return ((performance.now()-s)/3).toFixed(1); };
  for (const s of ENROLMENT_SORTS) console.log('sort', s, await time(`/partners?sortBy=${s}`));
  for (const q of ['country=SE','search=person 99999','email=p777@x.example','status=approved','status=banned','totalSaleAmountMin=7900', 'page=500', 'groupId=-'+g, 'country=-DE&sortBy=createdAt'])
    console.log(q, await time(`/partners?${q}`));
  console.log('count', await time('/partners/count'), 'count by country', await time('/partners/count?groupBy=country'), 'groups', await time('/groups'));
  let s = performance.now(); await p.post('/rewards', { event: 'lead', type: 'flat', amountInCents: 1 }); console.log('reward for 100k partners', (performance.now()-s).toFixed(0));
  s = performance.now(); await p.partner(); console.log('one more partner', (performance.now()-s).toFixed(0));
} finally { await t.close(); }
