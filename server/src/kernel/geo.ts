// The country of an address, from a file that comes with the product. Loaded when it is first needed, since it
// takes memory that an installation without country targeting can do without. Never asks anybody.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createAddressRule } from './ip-address.ts';

export interface Countries {
  /** Loads the file; undefined when it is loaded already. Never rejects: without the file no country is known. */
  ready(): Promise<void> | undefined;
  /** Two letters; undefined for private addresses, unknown ones, and while the file is not loaded. */
  find(ip: string): string | undefined;
}

const FILE = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';

interface CountryRecord {
  readonly country_code?: string;
  readonly country?: { readonly iso_code?: string };
}

/** `path`: another file of the same form. */
export function createCountries({
  path = fileURLToPath(import.meta.resolve(FILE)),
  onError,
}: {
  path?: string;
  onError: (error: unknown) => void;
}): Countries {
  const isPublic = createAddressRule([]);
  let get: ((ip: string) => CountryRecord | null) | undefined;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    try {
      const [{ Reader }, file] = await Promise.all([import('maxmind'), readFile(path)]);
      const reader = new Reader(file);
      get = (ip) => reader.get(ip) as CountryRecord | null;
    } catch (error) {
      get = () => null;
      onError(error);
    }
  }

  return {
    ready() {
      if (get) return undefined;
      loading ??= load();
      return loading;
    },
    find(ip) {
      if (!get || !isPublic(ip)) return undefined;
      const record = get(ip);
      return record?.country_code ?? record?.country?.iso_code;
    },
  };
}
