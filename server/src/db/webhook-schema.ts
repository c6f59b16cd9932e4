// The tables of webhooks as Kysely sees them.

export interface WebhookSchema {
  webhook: WebhookTable;
  webhook_link: WebhookLinkTable;
  webhook_folder: WebhookFolderTable;
  webhook_message: WebhookMessageTable;
  webhook_delivery: WebhookDeliveryTable;
  webhook_attempt: WebhookAttemptTable;
}

export interface WebhookTable {
  id: string;
  workspace_id: string;
  name: string;
  url: string;
  /** As it is: every message is signed with it. */
  secret: string;
  previous_secret: string | null;
  /** Until when messages are signed with the previous secret as well. */
  previous_secret_until: number | null;
  /** Space-joined. */
  triggers: string;
  link_scope: string | null;
  installation_id: string | null;
  disabled_at: number | null;
  disabled_reason: string | null;
  consecutive_failures: number;
  last_success_at: number | null;
  last_failure_at: number | null;
  /** When there is something to deliver; null: nothing is waiting. */
  next_at: number | null;
  /** The node that delivers to it at present. */
  lease_owner: string | null;
  lease_until: number | null;
  created_at: number;
  updated_at: number;
}

export interface WebhookLinkTable {
  webhook_id: string;
  link_id: string;
  created_at: number;
}

export interface WebhookFolderTable {
  webhook_id: string;
  folder_id: string;
  created_at: number;
}

export interface WebhookMessageTable {
  id: string;
  workspace_id: string;
  event: string;
  /** The whole envelope, the same bytes for every receiver and every attempt. */
  body: string;
  /** The customer or the click that it tells of, so that it can be blanked when the person is erased. */
  subject_id: string | null;
  erased_at: number | null;
  created_at: number;
}

export interface WebhookDeliveryTable {
  id: string;
  webhook_id: string;
  message_id: string;
  /** waiting, delivered, failed, canceled. */
  state: string;
  attempts: number;
  next_at: number;
  last_status: number | null;
  last_attempt_at: number | null;
  created_at: number;
}

export interface WebhookAttemptTable {
  id: string;
  webhook_id: string;
  message_id: string;
  url: string;
  status: number;
  response: string;
  duration_ms: number;
  created_at: number;
}
