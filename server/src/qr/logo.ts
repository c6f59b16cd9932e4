// Which logo goes into a QR code. Pure.
import type { Plan } from '../http/operation.ts';

/** What is known about the short link that a QR code leads to. */
export interface QrLink {
  readonly workspacePlan: Plan;
  readonly domainLogo: string | null;
  readonly workspaceLogo: string | null;
  /** The domain belongs to the service and not to the workspace. */
  readonly shared: boolean;
}

export type LogoChoice =
  | { readonly from: 'service' | 'nowhere' }
  | { readonly from: 'url'; readonly url: string };

const SERVICE: LogoChoice = { from: 'service' };

/** Free workspaces, and addresses that are no short links, carry the logo of the service. */
export function chooseLogo(
  link: QrLink | undefined,
  wish: { readonly hideLogo: boolean; readonly logo: string | undefined },
): LogoChoice {
  if (!link || link.workspacePlan === 'free') return SERVICE;
  if (wish.hideLogo) return { from: 'nowhere' };
  if (wish.logo) return { from: 'url', url: wish.logo };
  if (link.shared && !link.workspaceLogo) return SERVICE;
  const url = (link.shared ? null : link.domainLogo) ?? link.workspaceLogo;
  return url ? { from: 'url', url } : SERVICE;
}
