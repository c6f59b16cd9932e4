// The tables of partner programs as Kysely sees them. Money in US cents, percentages in hundredths of a percent.
import type { Generated } from 'kysely';

export interface PartnerSchema {
  program: ProgramTable;
  partner_group: PartnerGroupTable;
  group_default_link: GroupDefaultLinkTable;
  reward: RewardTable;
  discount: DiscountTable;
  discount_code: DiscountCodeTable;
  partner: PartnerTable;
  enrolment: EnrolmentTable;
  partner_tag: PartnerTagTable;
  enrolment_tag: EnrolmentTagTable;
  partner_application: PartnerApplicationTable;
  partner_invite: PartnerInviteTable;
  embed_token: EmbedTokenTable;
  partner_link: PartnerLinkTable;
  payout: PayoutTable;
  commission: CommissionTable;
  bounty: BountyTable;
  bounty_group: BountyGroupTable;
  bounty_tag: BountyTagTable;
  bounty_submission: BountySubmissionTable;
  fraud_rule: FraudRuleTable;
  fraud_group: FraudGroupTable;
  fraud_event: FraudEventTable;
}

export interface ProgramTable {
  id: string;
  workspace_id: string;
  name: string;
  slug: string;
  domain: string | null;
  url: string | null;
  logo: string | null;
  description: string | null;
  min_payout_amount: Generated<number>;
  payout_mode: Generated<string>;
  primary_reward_event: Generated<string>;
  default_folder_id: string | null;
  default_group_id: string | null;
  support_email: string | null;
  help_url: string | null;
  terms_url: string | null;
  application_requirements: string | null;
  deactivated_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface PartnerGroupTable {
  id: string;
  program_id: string;
  workspace_id: string;
  name: string;
  slug: string;
  color: string | null;
  holding_period_days: Generated<number>;
  max_partner_links: Generated<number>;
  additional_links: string | null;
  link_structure: Generated<string>;
  utm_source: string | null;
  utm_medium: string | null;
  utm_campaign: string | null;
  utm_term: string | null;
  utm_content: string | null;
  ref: string | null;
  auto_approve_at: number | null;
  application_form: string | null;
  application_form_published_at: number | null;
  move_rules: string | null;
  click_reward_id: string | null;
  lead_reward_id: string | null;
  sale_reward_id: string | null;
  referral_reward_id: string | null;
  discount_id: string | null;
  search_text: Generated<string>;
  created_at: number;
  updated_at: number;
}

export interface GroupDefaultLinkTable {
  id: string;
  program_id: string;
  workspace_id: string;
  group_id: string;
  domain: string;
  url: string;
  url_hash: string;
  created_at: number;
  updated_at: number;
}

export interface RewardTable {
  id: string;
  program_id: string;
  workspace_id: string;
  event: string;
  type: string;
  amount_cents: number | null;
  amount_basis_points: number | null;
  max_duration: number | null;
  description: string | null;
  modifiers: string | null;
  spend_limit_amount: number | null;
  spend_limit_interval: string | null;
  config: string | null;
  created_at: number;
  updated_at: number;
}

export interface DiscountTable {
  id: string;
  program_id: string;
  workspace_id: string;
  type: string;
  amount: number;
  max_duration: number | null;
  description: string | null;
  coupon_id: string | null;
  provider: Generated<string>;
  auto_provision_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface DiscountCodeTable {
  id: string;
  program_id: string;
  workspace_id: string;
  code: string;
  code_folded: string;
  discount_id: string | null;
  partner_id: string;
  link_id: string;
  disabled_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface PartnerTable {
  id: string;
  name: string | null;
  email: string | null;
  email_folded: string | null;
  username: string | null;
  image: string | null;
  description: string | null;
  country: string | null;
  company_name: string | null;
  network_status: Generated<string>;
  default_payout_method: string | null;
  paypal_email: string | null;
  stripe_connect_id: string | null;
  payouts_enabled_at: number | null;
  identity_verified_at: number | null;
  trusted_at: number | null;
  website: string | null;
  youtube: string | null;
  twitter: string | null;
  linkedin: string | null;
  instagram: string | null;
  tiktok: string | null;
  search_text: Generated<string>;
  created_at: number;
  updated_at: number;
}

export interface EnrolmentTable {
  id: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  group_id: string | null;
  tenant_id: string | null;
  tenant_folded: string | null;
  status: string;
  click_reward_id: string | null;
  lead_reward_id: string | null;
  sale_reward_id: string | null;
  referral_reward_id: string | null;
  discount_id: string | null;
  application_id: string | null;
  referred_by_partner_id: string | null;
  banned_at: number | null;
  banned_reason: string | null;
  links_stopped_at: number | null;
  reapplication: Generated<string>;
  rejected_at: number | null;
  risk_monitoring_disabled_at: number | null;
  group_move_disabled_at: number | null;
  total_clicks: Generated<number>;
  total_leads: Generated<number>;
  total_conversions: Generated<number>;
  total_sales: Generated<number>;
  total_sale_amount: Generated<number>;
  total_commissions: Generated<number>;
  last_lead_at: number | null;
  last_conversion_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface PartnerTagTable {
  id: string;
  program_id: string;
  workspace_id: string;
  name: string;
  name_folded: string;
  created_at: number;
  updated_at: number;
}

export interface EnrolmentTagTable {
  enrolment_id: string;
  tag_id: string;
  position: Generated<number>;
  created_at: number;
}

export interface PartnerApplicationTable {
  id: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  group_id: string | null;
  name: string;
  email: string;
  country: string | null;
  form_data: string | null;
  reviewed_at: number | null;
  rejection_reason: string | null;
  rejection_note: string | null;
  reject_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface PartnerInviteTable {
  hashed_token: string;
  program_id: string;
  enrolment_id: string;
  expires_at: number;
  created_at: number;
}

export interface EmbedTokenTable {
  hashed_token: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  expires_at: number;
  created_at: number;
}

export interface PartnerLinkTable {
  link_id: string;
  enrolment_id: string;
  default_link_id: string | null;
  url_hash: string;
  created_at: number;
}

export interface PayoutTable {
  id: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  invoice_id: string | null;
  amount: Generated<number>;
  currency: Generated<string>;
  status: string;
  description: string | null;
  period_start: number | null;
  period_end: number | null;
  mode: string | null;
  method: string | null;
  user_id: string | null;
  failure_reason: string | null;
  trace_id: string | null;
  paypal_transfer_id: string | null;
  webhook_event_id: string | null;
  initiated_at: number | null;
  paid_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface CommissionTable {
  id: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  customer_id: string | null;
  link_id: string | null;
  reward_id: string | null;
  payout_id: string | null;
  event_id: string | null;
  invoice_id: string | null;
  source_commission_id: string | null;
  type: string;
  amount: Generated<number>;
  earnings: number;
  currency: Generated<string>;
  quantity: Generated<number>;
  status: string;
  description: string | null;
  user_id: string | null;
  metadata: string | null;
  created_at: number;
  updated_at: number;
}

export interface BountyTable {
  id: string;
  program_id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  type: string;
  start_mode: Generated<string>;
  starts_at: number;
  ends_at: number | null;
  ends_after_days: number | null;
  submissions_open_at: number | null;
  submission_frequency: string | null;
  max_submissions: Generated<number>;
  reward_amount: number | null;
  reward_description: string | null;
  performance_condition: string | null;
  performance_scope: string | null;
  submission_requirements: string | null;
  opened_at: number | null;
  archived_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface BountyGroupTable {
  bounty_id: string;
  group_id: string;
  created_at: number;
}

export interface BountyTagTable {
  bounty_id: string;
  tag_id: string;
  created_at: number;
}

export interface BountySubmissionTable {
  id: string;
  program_id: string;
  workspace_id: string;
  bounty_id: string;
  partner_id: string;
  description: string | null;
  urls: string | null;
  files: string | null;
  status: string;
  performance_count: Generated<number>;
  performance_base: Generated<number>;
  social_metric_count: Generated<number>;
  social_metrics_synced_at: number | null;
  commission_id: string | null;
  user_id: string | null;
  rejection_reason: string | null;
  rejection_note: string | null;
  completed_at: number | null;
  reviewed_at: number | null;
  period_number: Generated<number>;
  created_at: number;
  updated_at: number;
}

export interface FraudRuleTable {
  id: string;
  program_id: string;
  workspace_id: string;
  type: string;
  config: string | null;
  disabled_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface FraudGroupTable {
  id: string;
  program_id: string;
  workspace_id: string;
  partner_id: string;
  type: string;
  status: string;
  event_count: Generated<number>;
  last_event_at: number;
  resolved_at: number | null;
  resolution_reason: string | null;
  user_id: string | null;
  created_at: number;
  updated_at: number;
}

export interface FraudEventTable {
  id: string;
  program_id: string;
  workspace_id: string;
  fraud_group_id: string;
  partner_id: string;
  type: string;
  customer_id: string | null;
  link_id: string | null;
  commission_id: string | null;
  event_id: string | null;
  metadata: string | null;
  created_at: number;
  updated_at: number;
}
