// The country of an address, from a file that comes with the product. Loaded when it is first needed, since it
// takes memory that an installation without country targeting can do without. Never asks anybody.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
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

/** What every file in MaxMind's format has near its end, and where at the earliest. */
const GEO_MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const GEO_TAIL_BYTES = 128 * 1024;

/** Whether a file is in MaxMind's format, by its mark alone: it may be large. Throws when it cannot be read. */
export function isGeoFile(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(Math.min(size, GEO_TAIL_BYTES));
    readSync(file, tail, 0, tail.length, size - tail.length);
    return tail.includes(GEO_MARK);
  } finally {
    closeSync(file);
  }
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
