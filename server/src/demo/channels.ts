// The ways by which links of the demo reach people, and how visitors who come that way differ.
import { createChoice } from '../kernel/weighted-choice.ts';
import { createChooseAgent, type DemoAgent, type Referer, readReferers } from './visitors.ts';

export interface Channel {
  readonly name: string;
  /** Undefined: its links are in none, where a list of links looks first. */
  readonly folder: string | undefined;
  readonly utm: { readonly source: string; readonly medium: string } | undefined;
  /** The share of scanned codes among its clicks. */
  readonly scans: number;
  /** How well its visitors convert, 1 being the average. */
  readonly quality: number;
  /** Days after which interest has fallen to a third; undefined: it stays. */
  readonly fadeDays: number | undefined;
  /** How many links of all are of it. */
  readonly weight: number;
  readonly chooseReferer: (share: number) => Referer;
  readonly chooseAgent: (share: number) => DemoAgent;
}

interface ChannelSpec {
  readonly utm?: string;
  readonly scans?: number;
  readonly quality: number;
  readonly fadeDays?: number;
  readonly weight: number;
  readonly phones: number;
  readonly referers: string;
}

function channel(name: string, folder: string | undefined, spec: ChannelSpec): Channel {
  const [source = '', medium = ''] = spec.utm?.split('/') ?? [];
  return {
    name,
    folder,
    utm: spec.utm === undefined ? undefined : { source, medium },
    scans: spec.scans ?? 0.01,
    quality: spec.quality,
    fadeDays: spec.fadeDays,
    weight: spec.weight,
    chooseReferer: createChoice(readReferers(spec.referers)),
    chooseAgent: createChooseAgent(spec.phones),
  };
}

export const CHANNELS: readonly Channel[] = [
  channel('Newsletter', 'Campaigns', {
    utm: 'newsletter/email',
    quality: 1.6,
    fadeDays: 6,
    weight: 24,
    phones: 0.8,
    referers: 'direct 60, mail.google.com 25, outlook.live.com 10, mail.yahoo.com 5',
  }),
  channel('Social', undefined, {
    utm: 'social/post',
    quality: 0.6,
    fadeDays: 10,
    weight: 30,
    phones: 2.6,
    referers:
      't.co/a1b2c3 30, www.linkedin.com 24, l.instagram.com 18, www.facebook.com 14, www.reddit.com/r/marketing 8, direct 12',
  }),
  channel('Ads', 'Campaigns', {
    utm: 'google/cpc',
    quality: 1.1,
    fadeDays: 40,
    weight: 14,
    phones: 1.2,
    referers: 'www.google.com 82, www.bing.com 10, direct 8',
  }),
  channel('Partners', 'Partners', {
    utm: 'partner/referral',
    quality: 1.4,
    weight: 16,
    phones: 1,
    referers: 'blog.partner.example/review 40, www.youtube.com 30, news.ycombinator.com 8, direct 22',
  }),
  channel('Print', 'Events', {
    utm: 'flyer/print',
    scans: 0.85,
    quality: 0.8,
    fadeDays: 60,
    weight: 6,
    phones: 12,
    referers: 'direct 100',
  }),
  channel('Product', undefined, {
    quality: 1,
    weight: 10,
    phones: 0.5,
    referers: 'direct 46, app.acme.example/settings 24, github.com 14, www.google.com 16',
  }),
];
