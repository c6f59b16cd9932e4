// The tables as Kysely sees them, the same on every engine: text ids, integer milliseconds, 0/1 flags,
// JSON as text, names that compare without case stored a second time in folded form.
import type { Generated, GeneratedAlways } from 'kysely';
import type { PartnerSchema } from './partner-schema.ts';
import type { WebhookSchema } from './webhook-schema.ts';

export interface Schema extends PartnerSchema, WebhookSchema {
  user: UserTable;
  workspace: WorkspaceTable;
  member: MemberTable;
  token: TokenTable;
  tag: TagTable;
  domain: DomainTable;
  folder: FolderTable;
  folder_user: FolderUserTable;
  link: LinkTable;
  link_tag: LinkTagTable;
  link_count: LinkCountTable;
  customer: CustomerTable;
  click_index: ClickIndexTable;
  lead: LeadTable;
  sale: SaleTable;
  conversion_key: ConversionKeyTable;
  payment_bridge: PaymentBridgeTable;
  payment_reference: PaymentReferenceTable;
  early_refund: EarlyRefundTable;
  invoice_import: InvoiceImportTable;
  cleanup: CleanupTable;
  outbox: OutboxTable;
  job: JobTable;
  idempotency: IdempotencyTable;
  import_progress: ImportProgressTable;
  sink_offset: SinkOffsetTable;
}

export interface UserTable {
  id: string;
  name: string | null;
  email: string | null;
  image: string | null;
  is_machine: number;
  created_at: number;
  updated_at: number;
}

/** Limits that are null are not applied; `usage` counts are kept whether or not a limit is set. */
export interface WorkspaceTable {
  id: string;
  name: string;
  slug: string;
  logo: string | null;
  plan: string;
  default_product: string;
  default_program_id: string | null;
  invite_code: string | null;
  publishable_key: string | null;
  conversion_enabled: number;
  webhook_enabled: number;
  allowed_hostnames: string;
  /** JSON object: limit name → number, only those an operator set. */
  limits: string;
  events_usage: number;
  links_usage: number;
  /** The month the monthly counts belong to, as year × 12 + month. */
  usage_month: number;
  payouts_usage: number;
  total_links: number;
  total_clicks: number;
  /** What becomes of visitors' addresses: standard (none of EU and GB visitors), keep, truncate, drop. */
  ip_privacy: Generated<string>;
  /** last_click or first_click. */
  attribution: Generated<string>;
  /** How long a click counts; null: for ever. */
  attribution_days: number | null;
  created_at: number;
  updated_at: number;
}

export interface MemberTable {
  user_id: string;
  workspace_id: string;
  role: string;
  default_folder_id: string | null;
  created_at: number;
  updated_at: number;
}

export interface TokenTable {
  id: string;
  name: string;
  hashed_key: string;
  partial_key: string;
  /** Space-joined; null means the full rights of the role. */
  scopes: string | null;
  expires_at: number | null;
  last_used_at: number | null;
  user_id: string;
  workspace_id: string;
  created_at: number;
  updated_at: number;
}

export interface TagTable {
  id: string;
  workspace_id: string;
  name: string;
  name_folded: string;
  color: string;
  created_at: number;
  updated_at: number;
}

export interface DomainTable {
  id: string;
  workspace_id: string;
  slug: string;
  /** The name before a change, while links are still to follow. */
  former_slug: string | null;
  is_primary: number;
  verified: number;
  /** What the owner puts into the domain's TXT record. */
  verification_code: string;
  archived: number;
  case_sensitive: number;
  placeholder: string | null;
  expired_url: string | null;
  not_found_url: string | null;
  logo: string | null;
  asset_links: string | null;
  apple_app_site_association: string | null;
  deepview_data: string | null;
  created_at: number;
  updated_at: number;
}

export interface FolderTable {
  id: string;
  workspace_id: string;
  name: string;
  name_folded: string;
  description: string | null;
  type: string;
  access_level: string | null;
  created_at: number;
  updated_at: number;
}

export interface FolderUserTable {
  folder_id: string;
  user_id: string;
  role: string;
  created_at: number;
  updated_at: number;
}

export interface LinkTable {
  /** Order of insertion; never shown. */
  seq: Generated<number>;
  id: string;
  workspace_id: string;
  domain: string;
  key: string;
  /** The key as visits look it up: folded, unless the domain tells case apart. */
  lookup_key: string;
  url: string;
  /** Short hash of the destination, to find links by it without indexing long addresses. */
  url_hash: string;
  /** The destination in lower case, where that takes more than folding ASCII. */
  url_folded: string | null;
  external_id: string | null;
  tenant_id: string | null;
  program_id: string | null;
  partner_id: string | null;
  folder_id: string | null;
  user_id: string | null;
  track_conversion: number;
  archived: number;
  proxy: number;
  rewrite: number;
  do_index: number;
  public_stats: number;
  expires_at: number | null;
  expired_url: string | null;
  disabled_at: number | null;
  banned_at: number | null;
  password: string | null;
  title: string | null;
  description: string | null;
  image: string | null;
  video: string | null;
  ios: string | null;
  android: string | null;
  geo: string | null;
  comments: string | null;
  utm_source: string | null;
  utm_medium: string | null;
  utm_campaign: string | null;
  utm_term: string | null;
  utm_content: string | null;
  test_variants: string | null;
  test_started_at: number | null;
  test_completed_at: number | null;
  /** When the end of the test was carried out. */
  test_ended_at: number | null;
  clicks: number;
  leads: number;
  conversions: number;
  sales: number;
  sale_amount: number;
  /** 0: never. A number, so that lists can be sorted by it. */
  last_clicked_at: number;
  created_at: number;
  updated_at: number;
  /** Short link and destination in lower case, a line each: what searches look into. */
  search_text: GeneratedAlways<string>;
}

export interface LinkTagTable {
  link_id: string;
  tag_id: string;
  position: number;
  /** Both as the link has them: lists of a tag's links are read in this order. */
  archived: number;
  created_at: number;
}

/** How many links there are, kept by triggers: of a workspace in all, and by domain, user, tenant and tag. */
export interface LinkCountTable {
  workspace_id: string;
  dimension: string;
  /** Empty for links of no user, and for dimensions without values. */
  value: string;
  /** Empty: in no folder. */
  folder_id: string;
  archived: number;
  links: number;
}

export interface CustomerTable {
  /** Order of insertion; never shown. */
  seq: Generated<number>;
  id: string;
  workspace_id: string;
  external_id: string;
  name: string | null;
  email: string | null;
  email_folded: string | null;
  avatar: string | null;
  stripe_customer_id: string | null;
  country: string | null;
  /** The click that brought the customer. */
  click_id: string | null;
  clicked_at: number | null;
  link_id: string | null;
  program_id: string | null;
  partner_id: string | null;
  sales: number;
  sale_amount: number;
  first_sale_at: number | null;
  subscription_canceled_at: number | null;
  /** Name, e-mail and external id, folded, a line each: what searches look into. */
  search_text: string;
  created_at: number;
  updated_at: number;
  /** When the first sale was; 0 for never, so that lists can be sorted by it. */
  first_sale_order: GeneratedAlways<number>;
  cancellation_order: GeneratedAlways<number>;
}

/** Clicks that the event store cannot find by the time in their id: imported ones, or entered by hand. */
export interface ClickIndexTable {
  id: string;
  workspace_id: string;
  link_id: string;
  time_ms: number;
  /** JSON: the click as analytics stores it. */
  click: string;
}

export interface LeadTable {
  id: string;
  workspace_id: string;
  customer_id: string;
  link_id: string;
  click_id: string;
  event_name: string;
  /** Where the click led. */
  url: string;
  /** JSON: the click as analytics stores it. */
  click: string;
  metadata: string | null;
  time_ms: number;
  created_at: number;
}

export interface SaleTable {
  id: string;
  workspace_id: string;
  customer_id: string;
  link_id: string;
  click_id: string;
  event_name: string;
  click: string;
  metadata: string | null;
  /** In US cents. */
  amount: number;
  /** Of `amount`: usd. */
  currency: string;
  original_amount: number;
  original_currency: string;
  payment_processor: string;
  invoice_id: string | null;
  refunded_amount: number;
  refunded_at: number | null;
  time_ms: number;
  created_at: number;
}

/** What may happen once, and the answer it got: kind `lead`, `invoice` or `refund`. */
export interface ConversionKeyTable {
  workspace_id: string;
  kind: string;
  key: string;
  customer_id: string | null;
  event_id: string | null;
  answer: string;
  created_at: number;
}

/** A payment provider that tells a workspace of its sales. */
export interface PaymentBridgeTable {
  workspace_id: string;
  provider: string;
  /** What the provider signs with. */
  secret: string;
  /** By which the provider can be asked. */
  api_key: string | null;
  created_at: number;
  updated_at: number;
}

/** What else a provider calls an invoice: its payment, its charge. */
export interface PaymentReferenceTable {
  workspace_id: string;
  reference: string;
  invoice_id: string;
  created_at: number;
}

/** A refund whose sale is not known yet, once for each name of its payment. */
export interface EarlyRefundTable {
  workspace_id: string;
  reference: string;
  refund_id: string;
  /** Null: all that is left of the sale. */
  amount: number | null;
  created_at: number;
}

/** Invoices of a customer that are to become sales of a partner. */
export interface InvoiceImportTable {
  workspace_id: string;
  customer_id: string;
  partner_id: string;
  link_id: string;
  status: string;
  attempts: number;
  /** Null: nothing is left to do. */
  next_at: number | null;
  recorded: number;
  error: string | null;
  created_at: number;
  updated_at: number;
}

/** What something deleted has left behind in other tables, to be removed in small steps. */
export interface CleanupTable {
  kind: string;
  /** What was deleted: a domain's slug, a folder's id. */
  target: string;
  workspace_id: string;
  created_at: number;
}

export interface OutboxTable {
  id: Generated<number>;
  workspace_id: string;
  type: string;
  payload: string;
  /** What receivers of webhooks get, where that is not the payload. Never leaves SQL for the journal. */
  webhook: string | null;
  created_at: number;
}

export interface JobTable {
  name: string;
  next_run_at: number;
  lease_owner: string | null;
  lease_until: number | null;
  last_run_at: number | null;
  last_error: string | null;
}

/** One row per (scope, key): the answer that a repeat of the request gets. */
export interface IdempotencyTable {
  scope: string;
  key: string;
  fingerprint: string;
  /** Null while the first request runs (only ever seen inside its own transaction). */
  status: number | null;
  /** Null also when the answer holds a secret, which is never stored. */
  body: string | null;
  created_at: number;
}

/** Where to go on with an import that was interrupted; gone once it is finished. */
export interface ImportProgressTable {
  source: string;
  state: string;
  updated_at: number;
}

/** How far a sink has come with the journal. */
export interface SinkOffsetTable {
  name: string;
  position: string;
  updated_at: number;
}
