// Partner programs: the program of a workspace, its groups, what they reward, the partners in it and what they
// have earned. Money is in US cents, percentages in hundredths of a percent, both integers.
import type { EngineWords, Migration } from '../migrate.ts';

export const partners: Migration = {
  id: 8,
  name: 'partners',
  up: (words) => [
    ...programTables(words),
    ...rewardTables(words),
    ...partnerTables(words),
    ...enrolmentIndexes(),
    ...tagTables(words),
    ...applicationTables(words),
    ...linkTables(words),
    ...commissionTables(words),
    ...bountyTables(words),
    ...fraudTables(words),
  ],
};

/** What every row of a program begins with. */
function ofProgram({ text }: EngineWords): string {
  return `id ${text} primary key,
      program_id ${text} not null references program (id) on delete cascade,
      workspace_id ${text} not null references workspace (id) on delete cascade`;
}

function times({ integer }: EngineWords): string {
  return `created_at ${integer} not null,
      updated_at ${integer} not null`;
}

function programTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table program (
      id ${text} primary key,
      workspace_id ${text} not null unique references workspace (id) on delete cascade,
      name ${text} not null,
      slug ${text} not null unique,
      domain ${text},
      url ${text},
      logo ${text},
      description ${text},
      min_payout_amount ${integer} not null default 0,
      payout_mode ${text} not null default 'external',
      primary_reward_event ${text} not null default 'sale',
      default_folder_id ${text},
      default_group_id ${text},
      support_email ${text},
      help_url ${text},
      terms_url ${text},
      application_requirements ${text},
      deactivated_at ${integer},
      ${times(words)}
    ) ${tableEnd}`,

    `create table partner_group (
      ${ofProgram(words)},
      name ${text} not null,
      slug ${text} not null,
      color ${text},
      holding_period_days ${integer} not null default 30,
      max_partner_links ${integer} not null default 10,
      additional_links ${text},
      link_structure ${text} not null default 'short',
      utm_source ${text},
      utm_medium ${text},
      utm_campaign ${text},
      utm_term ${text},
      utm_content ${text},
      ref ${text},
      auto_approve_at ${integer},
      application_form ${text},
      application_form_published_at ${integer},
      move_rules ${text},
      click_reward_id ${text},
      lead_reward_id ${text},
      sale_reward_id ${text},
      referral_reward_id ${text},
      discount_id ${text},
      search_text ${text} not null default '',
      ${times(words)},
      unique (program_id, slug)
    ) ${tableEnd}`,
    'create index partner_group_by_age on partner_group (program_id, created_at, id)',
    ...['click_reward_id', 'lead_reward_id', 'sale_reward_id', 'referral_reward_id', 'discount_id'].map(
      (column) =>
        `create unique index group_by_${column} on partner_group (${column}) where ${column} is not null`,
    ),

    `create table group_default_link (
      ${ofProgram(words)},
      group_id ${text} not null references partner_group (id) on delete cascade,
      domain ${text} not null,
      url ${text} not null,
      url_hash ${text} not null,
      ${times(words)},
      unique (group_id, url_hash)
    ) ${tableEnd}`,
  ];
}

function rewardTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table reward (
      ${ofProgram(words)},
      event ${text} not null,
      type ${text} not null,
      amount_cents ${integer},
      amount_basis_points ${integer},
      max_duration ${integer},
      description ${text},
      modifiers ${text},
      spend_limit_amount ${integer},
      spend_limit_interval ${text},
      config ${text},
      ${times(words)}
    ) ${tableEnd}`,
    'create index reward_by_age on reward (program_id, created_at, id)',

    `create table discount (
      ${ofProgram(words)},
      type ${text} not null,
      amount ${integer} not null,
      max_duration ${integer},
      description ${text},
      coupon_id ${text},
      provider ${text} not null default 'custom',
      auto_provision_at ${integer},
      ${times(words)}
    ) ${tableEnd}`,
    'create index discount_by_age on discount (program_id, created_at, id)',

    `create table discount_code (
      ${ofProgram(words)},
      code ${text} not null,
      code_folded ${text} not null,
      discount_id ${text},
      partner_id ${text} not null,
      link_id ${text} not null unique references link (id) on delete cascade,
      disabled_at ${integer},
      ${times(words)},
      unique (program_id, code_folded)
    ) ${tableEnd}`,
    'create index discount_code_by_age on discount_code (program_id, created_at, id)',
    'create index discount_code_of_partner on discount_code (program_id, partner_id, created_at, id)',
    'create index discount_code_of_discount on discount_code (discount_id, created_at, id)',
  ];
}

function partnerTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    // A partner is one for all programs: what belongs to a program is in the enrolment.
    `create table partner (
      id ${text} primary key,
      name ${text},
      email ${text},
      email_folded ${text} unique,
      username ${text} unique,
      image ${text},
      description ${text},
      country ${text},
      company_name ${text},
      network_status ${text} not null default 'draft',
      default_payout_method ${text},
      paypal_email ${text},
      stripe_connect_id ${text},
      payouts_enabled_at ${integer},
      identity_verified_at ${integer},
      trusted_at ${integer},
      website ${text},
      youtube ${text},
      twitter ${text},
      linkedin ${text},
      instagram ${text},
      tiktok ${text},
      search_text ${text} not null default '',
      ${times(words)}
    ) ${tableEnd}`,
    'create index partner_by_age on partner (created_at, id)',

    `create table enrolment (
      ${ofProgram(words)},
      partner_id ${text} not null references partner (id),
      group_id ${text},
      tenant_id ${text},
      tenant_folded ${text},
      status ${text} not null,
      click_reward_id ${text},
      lead_reward_id ${text},
      sale_reward_id ${text},
      referral_reward_id ${text},
      discount_id ${text},
      application_id ${text},
      referred_by_partner_id ${text},
      banned_at ${integer},
      banned_reason ${text},
      links_stopped_at ${integer},
      reapplication ${text} not null default 'standard',
      rejected_at ${integer},
      risk_monitoring_disabled_at ${integer},
      group_move_disabled_at ${integer},
      total_clicks ${integer} not null default 0,
      total_leads ${integer} not null default 0,
      total_conversions ${integer} not null default 0,
      total_sales ${integer} not null default 0,
      total_sale_amount ${integer} not null default 0,
      total_commissions ${integer} not null default 0,
      last_lead_at ${integer},
      last_conversion_at ${integer},
      ${times(words)},
      unique (program_id, partner_id)
    ) ${tableEnd}`,
    'create unique index enrolment_by_tenant on enrolment (program_id, tenant_folded) where tenant_folded is not null',
  ];
}

/** One quantity by another; what cannot be divided is below everything that can. */
export const ENROLMENT_RATIOS = {
  earningsPerClick: ratio('total_sale_amount', 'total_clicks'),
  averageLifetimeValue: ratio('total_sale_amount', 'total_conversions'),
  clickToLeadRate: ratio('total_leads', 'total_clicks'),
  clickToConversionRate: ratio('total_conversions', 'total_clicks'),
  leadToConversionRate: ratio('total_conversions', 'total_leads'),
  returnOnAdSpend: ratio('total_sale_amount', 'total_commissions'),
} as const;

function ratio(above: string, below: string): string {
  return `(case when ${below} > 0 then ${above} * 1.0 / ${below} else -1.0 end)`;
}

export const NET_REVENUE = '(total_sale_amount - total_commissions)';

/** An index for every order that a list of partners can have. */
function enrolmentIndexes(): string[] {
  const orders: Record<string, string> = {
    clicks: 'total_clicks',
    leads: 'total_leads',
    conversions: 'total_conversions',
    sales: 'total_sales',
    sale_amount: 'total_sale_amount',
    commissions: 'total_commissions',
    net_revenue: NET_REVENUE,
    earnings_per_click: ENROLMENT_RATIOS.earningsPerClick,
    lifetime_value: ENROLMENT_RATIOS.averageLifetimeValue,
    click_to_lead: ENROLMENT_RATIOS.clickToLeadRate,
    click_to_conversion: ENROLMENT_RATIOS.clickToConversionRate,
    lead_to_conversion: ENROLMENT_RATIOS.leadToConversionRate,
    ad_spend: ENROLMENT_RATIOS.returnOnAdSpend,
  };
  return [
    'create index enrolment_by_age on enrolment (program_id, created_at, id)',
    'create index enrolment_by_status on enrolment (program_id, status, created_at, id)',
    'create index enrolment_by_group on enrolment (program_id, group_id, created_at, id)',
    'create index enrolment_of_partner on enrolment (partner_id)',
    ...Object.entries(orders).map(
      ([name, order]) =>
        `create index enrolment_by_${name} on enrolment (program_id, ${order}, created_at, id)`,
    ),
  ];
}

function tagTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table partner_tag (
      ${ofProgram(words)},
      name ${text} not null,
      name_folded ${text} not null,
      ${times(words)},
      unique (program_id, name_folded)
    ) ${tableEnd}`,
    'create index partner_tag_by_age on partner_tag (program_id, created_at, id)',
    `create table enrolment_tag (
      enrolment_id ${text} not null references enrolment (id) on delete cascade,
      tag_id ${text} not null,
      position ${integer} not null default 0,
      created_at ${integer} not null,
      primary key (enrolment_id, tag_id)
    ) ${tableEnd}`,
    'create index enrolments_of_tag on enrolment_tag (tag_id, enrolment_id)',
  ];
}

function applicationTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table partner_application (
      ${ofProgram(words)},
      partner_id ${text} not null references partner (id),
      group_id ${text},
      name ${text} not null,
      email ${text} not null,
      country ${text},
      form_data ${text},
      reviewed_at ${integer},
      rejection_reason ${text},
      rejection_note ${text},
      reject_at ${integer},
      ${times(words)}
    ) ${tableEnd}`,
    'create index application_by_age on partner_application (program_id, created_at, id)',
    'create index application_of_partner on partner_application (partner_id, program_id, created_at)',
    'create index application_to_reject on partner_application (reject_at, id) where reject_at is not null',
    // The secret that the invited person was given is known by its hash only.
    `create table partner_invite (
      hashed_token ${text} primary key,
      program_id ${text} not null references program (id) on delete cascade,
      enrolment_id ${text} not null unique references enrolment (id) on delete cascade,
      expires_at ${integer} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    `create table embed_token (
      hashed_token ${text} primary key,
      program_id ${text} not null references program (id) on delete cascade,
      workspace_id ${text} not null references workspace (id) on delete cascade,
      partner_id ${text} not null,
      expires_at ${integer} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index embed_token_by_expiry on embed_token (expires_at)',
  ];
}

/** What is remembered of links beside themselves: which default link of a group one stands for, and what was asked for. */
function linkTables({ text, integer, tableEnd }: EngineWords): string[] {
  return [
    'create index link_of_partner on link (program_id, partner_id, created_at, id) where partner_id is not null',
    `create table partner_link (
      link_id ${text} primary key references link (id) on delete cascade,
      enrolment_id ${text} not null references enrolment (id) on delete cascade,
      default_link_id ${text},
      url_hash ${text} not null,
      created_at ${integer} not null
    ) ${tableEnd}`,
    'create index links_of_enrolment on partner_link (enrolment_id, url_hash, created_at, link_id)',
  ];
}

function commissionTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table payout (
      ${ofProgram(words)},
      partner_id ${text} not null references partner (id),
      invoice_id ${text},
      amount ${integer} not null default 0,
      currency ${text} not null default 'USD',
      status ${text} not null,
      description ${text},
      period_start ${integer},
      period_end ${integer},
      mode ${text},
      method ${text},
      user_id ${text},
      failure_reason ${text},
      trace_id ${text},
      paypal_transfer_id ${text} unique,
      webhook_event_id ${text} unique,
      initiated_at ${integer},
      paid_at ${integer},
      ${times(words)}
    ) ${tableEnd}`,
    'create index payout_by_amount on payout (program_id, amount, created_at, id)',
    'create index payout_by_initiation on payout (program_id, coalesce(initiated_at, 0), created_at, id)',
    'create index payout_by_payment on payout (program_id, coalesce(paid_at, 0), created_at, id)',
    'create index payout_by_age on payout (program_id, created_at, id)',
    'create index payout_by_status on payout (program_id, status, created_at, id)',
    'create index payout_of_partner on payout (program_id, partner_id, created_at, id)',
    'create index payout_of_invoice on payout (invoice_id) where invoice_id is not null',
    // Commissions that are due join this one; there is never a second.
    "create unique index pending_payout on payout (program_id, partner_id) where status = 'pending'",

    `create table commission (
      ${ofProgram(words)},
      partner_id ${text} not null references partner (id),
      customer_id ${text},
      link_id ${text},
      reward_id ${text},
      payout_id ${text},
      event_id ${text},
      invoice_id ${text},
      source_commission_id ${text},
      type ${text} not null,
      amount ${integer} not null default 0,
      earnings ${integer} not null,
      currency ${text} not null default 'usd',
      quantity ${integer} not null default 1,
      status ${text} not null,
      description ${text},
      user_id ${text},
      metadata ${text},
      ${times(words)}
    ) ${tableEnd}`,
    'create unique index commission_of_event on commission (event_id) where event_id is not null',
    'create unique index commission_of_invoice on commission (program_id, invoice_id) where invoice_id is not null',
    'create index commission_by_age on commission (program_id, created_at, id)',
    'create index commission_by_amount on commission (program_id, amount, created_at, id)',
    'create index commission_by_status on commission (program_id, status, created_at, id)',
    'create index commission_of_partner on commission (program_id, partner_id, created_at, id)',
    'create index commission_of_customer on commission (customer_id, partner_id, type, created_at, id) where customer_id is not null',
    'create index commission_of_payout on commission (payout_id, created_at, id) where payout_id is not null',
    // What is waiting to be paid out, and what a partner has earned in a window.
    "create index commission_pending on commission (program_id, partner_id, created_at, id) where status = 'pending'",
    'create index commission_spending on commission (program_id, partner_id, type, created_at, status, earnings)',
  ];
}

function bountyTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table bounty (
      ${ofProgram(words)},
      name ${text} not null,
      description ${text},
      type ${text} not null,
      start_mode ${text} not null default 'absolute',
      starts_at ${integer} not null,
      ends_at ${integer},
      ends_after_days ${integer},
      submissions_open_at ${integer},
      submission_frequency ${text},
      max_submissions ${integer} not null default 1,
      reward_amount ${integer},
      reward_description ${text},
      performance_condition ${text},
      performance_scope ${text},
      submission_requirements ${text},
      opened_at ${integer},
      archived_at ${integer},
      ${times(words)}
    ) ${tableEnd}`,
    'create index bounty_by_age on bounty (program_id, created_at, id)',
    // Those that have yet to begin for the partners that are there.
    "create index bounty_to_open on bounty (starts_at, id) where opened_at is null and type = 'performance'",
    ...(['group', 'tag'] as const).map(
      (what) => `create table bounty_${what} (
      bounty_id ${text} not null references bounty (id) on delete cascade,
      ${what}_id ${text} not null,
      created_at ${integer} not null,
      primary key (bounty_id, ${what}_id)
    ) ${tableEnd}`,
    ),
    'create index bounties_of_group on bounty_group (group_id)',
    'create index bounties_of_tag on bounty_tag (tag_id)',
    `create table bounty_submission (
      ${ofProgram(words)},
      bounty_id ${text} not null references bounty (id) on delete cascade,
      partner_id ${text} not null references partner (id),
      description ${text},
      urls ${text},
      files ${text},
      status ${text} not null,
      performance_count ${integer} not null default 0,
      performance_base ${integer} not null default 0,
      social_metric_count ${integer} not null default 0,
      social_metrics_synced_at ${integer},
      commission_id ${text} unique,
      user_id ${text},
      rejection_reason ${text},
      rejection_note ${text},
      completed_at ${integer},
      reviewed_at ${integer},
      period_number ${integer} not null default 1,
      ${times(words)},
      unique (bounty_id, partner_id, period_number)
    ) ${tableEnd}`,
    'create index submission_by_completion on bounty_submission (bounty_id, coalesce(completed_at, 0), created_at, id)',
    'create index submission_by_performance on bounty_submission (bounty_id, performance_count, created_at, id)',
    'create index submission_by_metric on bounty_submission (bounty_id, social_metric_count, created_at, id)',
    'create index submission_by_age on bounty_submission (program_id, created_at, id)',
    'create index submission_of_partner on bounty_submission (program_id, partner_id, status)',
  ];
}

function fraudTables(words: EngineWords): string[] {
  const { text, integer, tableEnd } = words;
  return [
    `create table fraud_rule (
      ${ofProgram(words)},
      type ${text} not null,
      config ${text},
      disabled_at ${integer},
      ${times(words)},
      unique (program_id, type)
    ) ${tableEnd}`,
    `create table fraud_group (
      ${ofProgram(words)},
      partner_id ${text} not null references partner (id),
      type ${text} not null,
      status ${text} not null,
      event_count ${integer} not null default 0,
      last_event_at ${integer} not null,
      resolved_at ${integer},
      resolution_reason ${text},
      user_id ${text},
      ${times(words)}
    ) ${tableEnd}`,
    "create unique index pending_fraud_group on fraud_group (program_id, partner_id, type) where status = 'pending'",
    'create index fraud_group_by_age on fraud_group (program_id, created_at, id)',
    'create index fraud_group_by_event on fraud_group (program_id, last_event_at, created_at, id)',
    "create index fraud_group_to_expire on fraud_group (last_event_at, id) where status = 'pending'",
    `create table fraud_event (
      ${ofProgram(words)},
      fraud_group_id ${text} not null references fraud_group (id) on delete cascade,
      partner_id ${text} not null references partner (id),
      type ${text} not null,
      customer_id ${text},
      link_id ${text},
      commission_id ${text},
      event_id ${text},
      metadata ${text},
      ${times(words)}
    ) ${tableEnd}`,
    'create index fraud_event_of_group on fraud_event (fraud_group_id, created_at, id)',
    'create index fraud_event_by_age on fraud_event (program_id, created_at, id)',
    'create index fraud_event_of_customer on fraud_event (customer_id) where customer_id is not null',
    'create index fraud_event_of_commission on fraud_event (commission_id) where commission_id is not null',
  ];
}
