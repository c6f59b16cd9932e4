// Who the visitors of the demo are: where they come from, with what device, and through which page. Values fit
// each other as those of real visitors do; addresses are from the ranges that are kept for documentation.
import { DIRECT } from '../analytics/click-record.ts';
import type { SeededRandom } from '../kernel/seeded-random.ts';
import { createChoice } from '../kernel/weighted-choice.ts';

export interface Place {
  readonly continent: string;
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly weight: number;
}

/** continent country region weight city: the city may have spaces. */
export const PLACES: readonly Place[] = `
NA US CA 90 San Francisco|NA US CA 70 Los Angeles|NA US NY 95 New York|NA US TX 55 Austin|NA US WA 45 Seattle
NA US IL 40 Chicago|NA US MA 35 Boston|NA US FL 30 Miami|NA US CO 22 Denver|NA US GA 20 Atlanta
NA CA ON 38 Toronto|NA CA BC 20 Vancouver|NA CA QC 16 Montreal|NA MX CMX 22 Mexico City|NA MX JAL 8 Guadalajara
EU GB ENG 85 London|EU GB ENG 18 Manchester|EU GB SCT 12 Edinburgh|EU IE L 14 Dublin|EU DE BE 48 Berlin
EU DE BY 34 Munich|EU DE HH 22 Hamburg|EU FR IDF 46 Paris|EU FR ARA 14 Lyon|EU NL NH 30 Amsterdam
EU ES MD 24 Madrid|EU ES CT 20 Barcelona|EU IT 25 16 Milan|EU IT 62 12 Rome|EU SE AB 16 Stockholm
EU DK 84 10 Copenhagen|EU PL 14 18 Warsaw|EU PT 11 10 Lisbon|EU CH ZH 12 Zurich|EU AT 9 10 Vienna
AS IN KA 44 Bengaluru|AS IN MH 36 Mumbai|AS IN DL 24 Delhi|AS JP 13 32 Tokyo|AS JP 27 12 Osaka
AS SG 01 22 Singapore|AS KR 11 18 Seoul|AS ID JK 18 Jakarta|AS AE DU 12 Dubai|AS PH 00 12 Manila
OC AU NSW 28 Sydney|OC AU VIC 22 Melbourne|OC NZ AUK 8 Auckland|SA BR SP 38 São Paulo|SA BR RJ 16 Rio de Janeiro
SA AR C 12 Buenos Aires|SA CO DC 10 Bogotá|SA CL RM 8 Santiago|AF ZA WC 9 Cape Town|AF NG LA 12 Lagos|AF KE 30 7 Nairobi
`
  .trim()
  .split(/[|\n]/)
  .map((text) => {
    const [continent = '', country = '', region = '', weight, ...city] = text.split(' ');
    return { continent, country, region, city: city.join(' '), weight: Number(weight) };
  });

export interface DemoAgent {
  readonly device: string;
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly userAgent: string;
  readonly weight: number;
}

const WINDOWS = '(Windows NT 10.0; Win64; x64)';
const MAC = '(Macintosh; Intel Mac OS X 10_15_7)';
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const BLINK = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0';
const iphone = (version: string) => `(iPhone; CPU iPhone OS ${version} like Mac OS X) ${WEBKIT}`;

function agent(parts: string, weight: number, userAgent: string): DemoAgent {
  const [device = '', browser = '', browserVersion = '', os = '', osVersion = ''] = parts.split(', ');
  return { device, browser, browserVersion, os, osVersion, userAgent: `Mozilla/5.0 ${userAgent}`, weight };
}

export const AGENTS: readonly DemoAgent[] = [
  agent('Desktop, Chrome, 138.0.0.0, Windows, 10', 200, `${WINDOWS} ${BLINK} Safari/537.36`),
  agent('Desktop, Chrome, 138.0.0.0, Mac OS, 10.15.7', 110, `${MAC} ${BLINK} Safari/537.36`),
  agent('Desktop, Safari, 18.5, Mac OS, 10.15.7', 70, `${MAC} ${WEBKIT} Version/18.5 Safari/605.1.15`),
  agent('Desktop, Edge, 138.0.0.0, Windows, 10', 60, `${WINDOWS} ${BLINK} Safari/537.36 Edg/138.0.0.0`),
  agent(
    'Desktop, Firefox, 140.0, Windows, 10',
    30,
    '(Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ),
  agent('Desktop, Chrome, 138.0.0.0, Linux, Unknown', 14, `(X11; Linux x86_64) ${BLINK} Safari/537.36`),
  agent(
    'Desktop, Firefox, 140.0, Linux, Unknown',
    12,
    '(X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ),
  agent(
    'Mobile, Mobile Safari, 18.5, iOS, 18.5',
    150,
    `${iphone('18_5')} Version/18.5 Mobile/15E148 Safari/604.1`,
  ),
  agent(
    'Mobile, Mobile Safari, 17.6, iOS, 17.6',
    50,
    `${iphone('17_6')} Version/17.6 Mobile/15E148 Safari/604.1`,
  ),
  agent(
    'Mobile, Chrome, 138.0.7204.53, iOS, 18.5',
    24,
    `${iphone('18_5')} CriOS/138.0.7204.53 Mobile/15E148 Safari/604.1`,
  ),
  agent(
    'Mobile, Chrome, 138.0.0.0, Android, 10',
    170,
    `(Linux; Android 10; K) ${BLINK} Mobile Safari/537.36`,
  ),
  agent(
    'Mobile, Samsung Internet, 28.0, Android, 15',
    34,
    '(Linux; Android 15; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
  ),
  agent('Mobile, Firefox, 140.0, Android, 15', 8, '(Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0'),
  agent(
    'Tablet, Mobile Safari, 17.6, iOS, 17.6',
    22,
    `(iPad; CPU OS 17_6 like Mac OS X) ${WEBKIT} Version/17.6 Mobile/15E148 Safari/604.1`,
  ),
  agent('Tablet, Chrome, 138.0.0.0, Android, 14', 12, `(Linux; Android 14; SM-X910) ${BLINK} Safari/537.36`),
];

/** Their laws forbid to keep addresses, and so does Linktrail. */
const WITHOUT_ADDRESS = new Set('GB IE DE FR NL ES IT SE DK PL PT AT'.split(' '));
const DOCUMENTATION_RANGES = ['192.0.2', '198.51.100', '203.0.113'];

const choosePlace = createChoice(PLACES);

/** `phones`: how many times more likely a phone is than it would be by itself. */
export function createChooseAgent(phones: number): (share: number) => DemoAgent {
  return createChoice(
    AGENTS.map((one) => ({ ...one, weight: one.device === 'Mobile' ? one.weight * phones : one.weight })),
  );
}

export function drawPlace(random: SeededRandom): { place: Place; ip: string } {
  const place = choosePlace(random.next());
  const ip = WITHOUT_ADDRESS.has(place.country)
    ? ''
    : `${random.pick(DOCUMENTATION_RANGES)}.${1 + random.whole(254)}`;
  return { place, ip };
}

export interface Referer {
  readonly referer: string;
  readonly refererUrl: string;
  readonly weight: number;
}

/** `news.example/today 5` as a referer with its weight; `direct` is none. */
export function readReferers(text: string): Referer[] {
  return text.split(', ').map((entry) => {
    const [address = '', weight] = entry.split(' ');
    return address === 'direct'
      ? { referer: DIRECT, refererUrl: DIRECT, weight: Number(weight) }
      : {
          referer: (address.split('/')[0] as string).replace(/^www\./, ''),
          refererUrl: `https://${address}${address.includes('/') ? '' : '/'}`,
          weight: Number(weight),
        };
  });
}
