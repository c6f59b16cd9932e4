// Which sites may report clicks for a workspace: the rule about its list of hostnames, and the host that a
// page's request comes from.

/** The host of the page that sent a request, without www.; undefined when the request does not say. */
export function pageHost(header: (name: string) => string | undefined): string | undefined {
  const host = hostOf(header('referer')) ?? hostOf(header('origin'));
  return host && withoutWww(host);
}

/** An empty list allows everyone. `*.example.com` means what is below example.com, and not example.com itself. */
export function isAllowedHost(allowed: readonly string[], host: string | undefined): boolean {
  if (allowed.length === 0) return true;
  if (host === undefined) return false;
  return allowed.some((entry) =>
    entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : withoutWww(entry) === host,
  );
}

function hostOf(address: string | undefined): string | undefined {
  return (address && URL.parse(address)?.hostname) || undefined;
}

function withoutWww(host: string): string {
  return host.startsWith('www.') ? host.slice(4) : host;
}
