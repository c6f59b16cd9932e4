// Domains of e-mail addresses that many share, and of those that are thrown away after use. The latter come from a list
// that is kept up elsewhere; a program can name more.
import { disposableEmailBlocklist } from 'disposable-email-domains-js';

/** No domain that matters has more parts. */
const MAX_LABELS = 10;

/** Sharing one of these says nothing. */
export const FREE_DOMAINS: ReadonlySet<string> = new Set(
  `gmail.com googlemail.com outlook.com hotmail.com hotmail.co.uk hotmail.fr hotmail.de hotmail.it hotmail.es
  live.com live.co.uk live.fr live.nl msn.com yahoo.com yahoo.co.uk yahoo.co.in yahoo.co.jp yahoo.fr yahoo.de
  yahoo.it yahoo.es yahoo.ca yahoo.com.br yahoo.com.au ymail.com rocketmail.com icloud.com me.com mac.com aol.com
  aim.com proton.me protonmail.com protonmail.ch pm.me gmx.de gmx.net gmx.com gmx.at gmx.ch web.de t-online.de
  freenet.de mail.com email.com mail.ru inbox.ru list.ru bk.ru yandex.ru yandex.com ya.ru rambler.ru qq.com 163.com
  126.com sina.com sina.cn foxmail.com aliyun.com naver.com daum.net hanmail.net kakao.com rediffmail.com zoho.com
  zohomail.com tutanota.com tuta.io tuta.com fastmail.com fastmail.fm hey.com duck.com hushmail.com orange.fr
  wanadoo.fr free.fr sfr.fr laposte.net libero.it virgilio.it tiscali.it alice.it btinternet.com sky.com
  virginmedia.com ntlworld.com talktalk.net comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net
  charter.net earthlink.net shaw.ca rogers.com sympatico.ca bigpond.com optusnet.com.au telstra.com uol.com.br
  bol.com.br terra.com.br ig.com.br globo.com wp.pl o2.pl onet.pl interia.pl seznam.cz centrum.cz atlas.cz ukr.net
  i.ua abv.bg mail.bg telenet.be skynet.be ziggo.nl kpnmail.nl planet.nl home.nl bluewin.ch telia.com`.split(
    /\s+/,
  ),
);

/** Met in practice, and not on the list. */
const MORE_DISPOSABLE: readonly string[] =
  `tempmail.com temp-mail.io tempmail.net tempmail.dev tempmailaddress.com tempemail.co cool.fr.nf einwegmail.de
  spamgourmet.com spamgourmet.net mailtm.com mail-temp.com disposable.com throwaway.email getinboxes.com fakeinbox.net
  anonymmail.net nospam.ze.tc sneakemail.com xoxy.net burnermail.io burner.email luxusmail.org correotemporal.org
  neverbox.com nomail.xl.cx`.split(/\s+/);

let disposable: ReadonlySet<string> | undefined;

/** Also for the domains below one. The list, about a megabyte in memory, is read when it is first asked for. */
export function isDisposable(domain: string): boolean {
  disposable ??= new Set([...disposableEmailBlocklist(), ...MORE_DISPOSABLE]);
  const labels = domain.toLowerCase().split('.').slice(-MAX_LABELS);
  for (let from = 0; from < labels.length - 1; from++) {
    if (disposable.has(labels.slice(from).join('.'))) return true;
  }
  return false;
}
