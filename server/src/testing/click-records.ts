// Clicks for tests, each field with a value of its own unless the test says which.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import type { LinkRow } from '../analytics/link-row.ts';
import type { Click } from '../events/event.ts';

const TIME_MS = Date.UTC(2027, 0, 15, 10);

export function rawClick(n: number, fields: Partial<Click> = {}): Click {
  return {
    id: `click-${String(n).padStart(8, '0')}`,
    timeMs: TIME_MS + n,
    workspaceId: 'ws_1',
    linkId: `link_${n % 10}`,
    domain: 'go.example.com',
    key: `key-${n % 10}`,
    url: `https://example.com/page?n=${n}`,
    ip: '8.8.8.8',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    referer: '',
    trigger: 'link',
    qr: false,
    ipPrivacy: 'standard',
    countryHint: '',
    ...fields,
  };
}

export function clickRecord(n: number, fields: Partial<ClickRecord> = {}): ClickRecord {
  const { id, timeMs, workspaceId, linkId, domain, key, url } = rawClick(n);
  return {
    id,
    timeMs,
    workspaceId,
    linkId,
    domain,
    key,
    url,
    urlBase: 'https://example.com/page',
    utmSource: `source-${n}`,
    utmMedium: 'medium',
    utmCampaign: 'campaign',
    utmTerm: 'term',
    utmContent: 'content',
    ip: '8.8.8.8',
    continent: 'NA',
    country: 'US',
    region: 'CA',
    city: 'Mountain View',
    device: 'Desktop',
    browser: 'Firefox',
    browserVersion: '128.0',
    os: 'Linux',
    osVersion: 'x86_64',
    userAgent: 'Mozilla/5.0',
    trigger: 'qr',
    qr: true,
    referer: 'example.org',
    refererUrl: 'https://www.example.org/?a=b',
    ...fields,
  };
}

export function linkRow(id: string, fields: Partial<LinkRow> = {}): LinkRow {
  return {
    id,
    workspaceId: 'ws_1',
    domain: 'go.example.com',
    key: 'key',
    folderId: '',
    tenantId: '',
    partnerId: '',
    programId: '',
    tagIds: [],
    root: false,
    deleted: false,
    changeId: 1,
    ...fields,
  };
}

export function leadRecord(id: string, fields: Partial<LeadRecord> = {}): LeadRecord {
  const click = fields.click ?? clickRecord(1);
  return {
    id,
    timeMs: click.timeMs + 60_000,
    workspaceId: click.workspaceId,
    linkId: click.linkId,
    customerId: 'cus_1',
    eventName: 'Sign up',
    metadata: '{"plan":"pro"}',
    click,
    ...fields,
  };
}

export function saleRecord(id: string, fields: Partial<SaleRecord> = {}): SaleRecord {
  return {
    ...leadRecord(id, fields),
    eventName: 'Invoice paid',
    amount: 4_900,
    currency: 'usd',
    paymentProcessor: 'custom',
    invoiceId: '',
    ...fields,
  };
}
