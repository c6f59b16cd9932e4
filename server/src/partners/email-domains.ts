// Domains of e-mail addresses that many share, and of those that are thrown away after use. A program can name more
// of the latter; the list here has the ones that are met most.

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

export const DISPOSABLE_DOMAINS: ReadonlySet<string> = new Set(
  `mailinator.com mailinator.net mailinator.org guerrillamail.com guerrillamail.net guerrillamail.org
  guerrillamail.biz guerrillamail.de guerrillamailblock.com grr.la sharklasers.com pokemail.net spam4.me 10minutemail.com
  10minutemail.net 10minutemail.co.uk 10minemail.com 20minutemail.com 20mail.it 30minutemail.com tempmail.com temp-mail.org
  temp-mail.io temp-mail.ru tempmail.net tempmail.dev tempmail.plus tempmailo.com tempmailaddress.com tempail.com
  tempr.email tempinbox.com tempemail.net tempemail.co mytemp.email mytempmail.com moakt.com moakt.cc moakt.ws
  yopmail.com yopmail.fr yopmail.net cool.fr.nf jetable.org jetable.com jetable.net trashmail.com trashmail.de
  trashmail.net trashmail.me trashmail.ws trash-mail.com trash-mail.de wegwerfmail.de wegwerfmail.net wegwerfmail.org
  wegwerfemail.de einwegmail.de spambog.com spambog.de spambog.ru spamgourmet.com spamgourmet.net spamex.com
  spamfree24.org spamfree24.de spam.la spaml.com spamhole.com spambox.us spamcowboy.com spamavert.com spamday.com
  mailnesia.com mailcatch.com maildrop.cc mailnull.com mailsac.com mailexpire.com mailforspam.com mailmoat.com
  mailtemp.info mailtothis.com mailzilla.com mailimate.com mailscrap.com mailseal.de mailshell.com mailsiphon.com
  mailslapping.com mailtm.com mail.tm mail-temp.com mail-temporaire.fr mailpoof.com mailto.plus fexpost.com fexbox.org
  rover.info chitthi.in inpwa.com intopwa.com merepost.com dispostable.com disposableinbox.com disposable.com
  discard.email discardmail.com discardmail.de throwawaymail.com throwaway.email throwam.com getairmail.com getnada.com
  nada.email nada.ltd abyssmail.com boximail.com clrmail.com dropjar.com getinboxes.com inboxbear.com givmail.com
  tafmail.com vomoto.com zetmail.com fakeinbox.com fakeinbox.net fakemail.net fakemailgenerator.com fakemail.fr
  armyspy.com cuvox.de dayrep.com einrot.com fleckens.hu gustr.com jourrapide.com rhyta.com superrito.com teleworm.us
  emailondeck.com emailfake.com email-fake.com generator.email emailtemporanea.com emailtemporanea.net emailtemporario.com.br
  emailsensei.com emailwarden.com emailias.com emailto.de incognitomail.com incognitomail.org incognitomail.net
  anonbox.net anonymbox.com anonymmail.net antispam.de mintemail.com mohmal.com mohmal.in mt2015.com mytrashmail.com
  nospam.ze.tc nospamfor.us no-spam.ws nowmymail.com objectmail.com oneoffemail.com owlpic.com
  proxymail.eu punkass.com pookmail.com quickinbox.com rcpt.at receiveee.com safetymail.info selfdestructingmail.com
  sendspamhere.com shieldemail.com shitmail.me sneakemail.com sofort-mail.de sogetthis.com soodonims.com
  supergreatmail.com suremail.info thankyou2010.com thisisnotmyrealemail.com tilien.com tmail.ws tmailinator.com
  tradermail.info tyldd.com uggsrock.com veryrealemail.com wh4f.org whyspam.me willselfdestruct.com
  winemaven.info wronghead.com wuzup.net xagloo.com xemaps.com xoxy.net yapped.net yuurok.com zehnminutenmail.de
  zippymail.info zoemail.org burnermail.io burner.email inboxkitten.com minuteinbox.com luxusmail.org linshiyouxiang.net
  crazymailing.com correotemporal.org cock.li dropmail.me emltmp.com 10mail.org yomail.info spymail.one internxt.com
  harakirimail.com hidemail.de hmamail.com hulapla.de ieatspam.eu ieatspam.info ihateyoualot.info imails.info
  instant-mail.de instantemailaddress.com irish2me.com kasmail.com kaspop.com killmail.com killmail.net klassmaster.com
  kulturbetrieb.info kurzepost.de lifebyfood.com lookugly.com lortemail.dk lroid.com lukop.dk m21.cc meltmail.com
  messagebeamer.de mierdamail.com mbx.cc mvrht.com nervmich.net nervtmich.net netmails.net neverbox.com nincsmail.com
  nobulk.com noclickemail.com nomail.xl.cx nomorespamemails.com notmailinator.com nurfuerspam.de obobbo.com`.split(
    /\s+/,
  ),
);
