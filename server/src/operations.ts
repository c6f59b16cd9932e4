// The list of all operations. The router, the OpenAPI document and the tests over every operation read it.
import { tokenOperations } from './access/token.api.ts';
import type { Tokens } from './access/tokens.ts';
import type { Users } from './access/users.ts';
import { analyticsOperations } from './analytics/analytics.api.ts';
import type { AnalyticsSide } from './analytics/analytics-side.ts';
import { eventOperations } from './analytics/events.api.ts';
import { partnerAnalyticsOperations } from './analytics/partner-analytics.api.ts';
import type { ClickTracking } from './conversions/click-tracking.ts';
import { conversionOperations } from './conversions/conversion.api.ts';
import type { Conversions } from './conversions/conversions.ts';
import { trackOperations } from './conversions/track.api.ts';
import { customerOperations } from './customers/customer.api.ts';
import type { CustomerLists } from './customers/customer-lists.ts';
import type { WriteCustomerRecord } from './customers/customer-record.ts';
import type { Customers } from './customers/customers.ts';
import { domainOperations } from './domains/domain.api.ts';
import type { Domains } from './domains/domains.ts';
import { fileOperations } from './files/file.api.ts';
import type { Files } from './files/files.ts';
import { folderOperations } from './folders/folder.api.ts';
import type { Folders } from './folders/folders.ts';
import type { Operation } from './http/operation.ts';
import type { Clock } from './kernel/clock.ts';
import type { GuardedFetch } from './kernel/guarded-fetch.ts';
import { linkOperations } from './links/link.api.ts';
import { linkHelperOperations } from './links/link-helpers.api.ts';
import type { LinkLists } from './links/link-lists.ts';
import type { Links } from './links/links.ts';
import type { TestEnd } from './links/test-end.ts';
import { applicationOperations } from './partners/application.api.ts';
import { bountyOperations } from './partners/bounty.api.ts';
import { commissionOperations } from './partners/commission.api.ts';
import { discountCodeOperations } from './partners/discount-code.api.ts';
import type { EarningSide } from './partners/earning-side.ts';
import { embedOperations, embedTokenOperations } from './partners/embed.api.ts';
import { fraudOperations } from './partners/fraud.api.ts';
import { groupOperations } from './partners/group.api.ts';
import { partnerOperations } from './partners/partner.api.ts';
import { partnerLinkOperations } from './partners/partner-link.api.ts';
import type { PartnerSide } from './partners/partner-side.ts';
import { partnerTagOperations } from './partners/partner-tag.api.ts';
import { payoutOperations } from './partners/payout.api.ts';
import { programOperations } from './partners/program.api.ts';
import { discountOperations, rewardOperations } from './partners/reward.api.ts';
import { paymentOperations } from './payments/payment.api.ts';
import type { PaymentSide } from './payments/payment-side.ts';
import { qrOperations } from './qr/qr.api.ts';
import type { QrCodes } from './qr/qr-codes.ts';
import { tagOperations } from './tags/tag.api.ts';
import type { Tags } from './tags/tags.ts';
import { webhookOperations } from './webhooks/webhook.api.ts';
import type { WebhookLogs } from './webhooks/webhook-logs.ts';
import type { WebhookFlow } from './webhooks/webhook-side.ts';
import type { Webhooks } from './webhooks/webhooks.ts';
import { workspaceOperations } from './workspaces/workspace.api.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

export interface Services extends AnalyticsSide, PartnerSide, EarningSide {
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly users: Users;
  readonly workspaces: Workspaces;
  readonly files: Files;
  readonly domains: Domains;
  readonly tags: Tags;
  readonly folders: Folders;
  readonly links: Links;
  readonly linkLists: LinkLists;
  readonly linkSearch: { index(signal: AbortSignal): Promise<void> };
  readonly customers: Customers;
  readonly customerLists: CustomerLists;
  readonly customerSearch: { index(signal: AbortSignal): Promise<void> };
  readonly writeCustomerRecord: WriteCustomerRecord;
  readonly testEnd: TestEnd;
  readonly qrCodes: QrCodes;
  readonly clickTracking: ClickTracking;
  readonly conversions: Conversions;
  readonly payments: PaymentSide['payments'];
  readonly earlyRefunds: PaymentSide['earlyRefunds'];
  readonly invoiceImports: PaymentSide['invoiceImports'];
  readonly guardedFetch: GuardedFetch;
  readonly webhooks: Webhooks;
  readonly webhookLogs: WebhookLogs;
  readonly webhookFlow: WebhookFlow;
}

export function allOperations(services: Services): Operation[] {
  return [
    // Before the operations that take any id in the same place.
    ...linkHelperOperations(services),
    ...linkOperations(services),
    ...qrOperations(services),
    ...trackOperations(services),
    ...conversionOperations(services),
    ...customerOperations(services),
    ...paymentOperations(services),
    ...tagOperations(services),
    ...folderOperations(services),
    ...domainOperations(services),
    ...fileOperations(services),
    ...workspaceOperations(services),
    ...tokenOperations(services),
    ...embedTokenOperations(services),
    ...programOperations(services),
    ...groupOperations(services),
    ...rewardOperations(services),
    ...discountOperations(services),
    ...discountCodeOperations(services),
    ...bountyOperations(services),
    ...applicationOperations(services),
    ...partnerLinkOperations(services),
    ...partnerTagOperations(services),
    ...partnerAnalyticsOperations(services),
    ...embedOperations(services),
    // Takes any id where those before it have words.
    ...partnerOperations(services),
    ...commissionOperations(services),
    ...payoutOperations(services),
    ...fraudOperations(services),
    ...webhookOperations(services),
    ...eventOperations(services),
    ...analyticsOperations(services),
  ];
}
