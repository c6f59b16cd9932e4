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

/** The records of a file in MaxMind's format, by address. */
export async function openGeoFile<T>(path: string): Promise<(ip: string) => T | null> {
  const [{ Reader }, file] = await Promise.all([import('maxmind'), readFile(path)]);
  const reader = new Reader(file);
  return (ip) => reader.get(ip) as T | null;
}

export function ownCountryFile(): string {
  return fileURLToPath(import.meta.resolve(FILE));
}

/** `path`: another file of the same form. */
export function createCountries({
  path = ownCountryFile(),
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
      get = await openGeoFile<CountryRecord>(path);
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
