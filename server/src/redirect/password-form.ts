// The form that asks for a link's password: takes what was sent, remembers a right one in a cookie, and counts
// wrong ones, those in the address included.
import { sameSecret } from '../kernel/ids.ts';
import type { VisitLink } from '../links/visit-link.ts';
import { cookieText, sendRedirect } from './answer.ts';
import type { Ask } from './ask.ts';
import { passwordCookie } from './decide.ts';
import type { Endings, PasswordProblem } from './endings.ts';
import type { Found } from './find-link.ts';
import type { OnVisit } from './outcome.ts';
import { type PasswordLimit, readPassword } from './password.ts';
import { ownPath } from './resolve.ts';
import type { Visit } from './visit.ts';

const WRONG: PasswordProblem = { text: 'That password is not right.', status: 200 };
const TOO_MANY: PasswordProblem = {
  text: 'Too many wrong passwords. Try again in ten minutes.',
  status: 429,
};

export interface PasswordFormParts {
  readonly limit: PasswordLimit;
  readonly endings: Endings;
  readonly onVisit: OnVisit;
}

export function createPasswordForm({ limit, endings, onVisit }: PasswordFormParts) {
  const ask = (asked: Ask, found: Found, problem: PasswordProblem) =>
    endings.page(asked, found, 'password', 200, problem);

  function judge(asked: Ask, found: Found, link: VisitLink, given: string | undefined) {
    if (given !== undefined && !limit.refuses(link.id) && sameSecret(given, link.password as string)) {
      onVisit('password');
      return back(asked, rememberingCookie(asked, link.id, given));
    }
    if (given !== undefined) limit.failed(link.id);
    ask(asked, found, WRONG);
  }

  return {
    /** What to tell a visitor whose visit ended at the form. Also counts a wrong password that came in the address. */
    problemOf(link: VisitLink | null, visit: Visit): PasswordProblem | undefined {
      if (!link || link.password === null) return undefined;
      if (visit.passwordsRefused) return TOO_MANY;
      if (!visit.query.has('pw')) return undefined;
      limit.failed(link.id);
      return WRONG;
    },

    take(asked: Ask, found: Found) {
      const { link } = found;
      if (!link || link.password === null) return back(asked);
      if (limit.refuses(link.id)) return ask(asked, found, TOO_MANY);
      readPassword(asked.request)
        .then((given) => judge(asked, found, link, given))
        .catch((error) => endings.failed(asked, error));
    },
  };
}

/** To the same address, which is then asked for with the cookie. */
function back({ response, path, search }: Ask, cookies?: string[]): void {
  sendRedirect(response, 303, `${ownPath(path)}${search}`, { noIndex: true, cookies });
}

function rememberingCookie({ caller, path }: Ask, linkId: string, value: string): string[] {
  const secure = caller.origin.startsWith('https:');
  return [cookieText({ name: passwordCookie(linkId), value, path, httpOnly: true, secure })];
}
