// A real browser for tests of pages: Debian's Chromium, which npm cannot bring. A skip says so loudly.
import { accessSync, constants } from 'node:fs';
import { after, describe, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** Defines the suite, which gets a function that opens the browser once. */
export function inChromium(name: string, suite: (open: () => Promise<Browser>) => void): void {
  const executablePath = [process.env.LINKTRAIL_TEST_CHROMIUM, ...PLACES].find(isProgram);
  if (executablePath === undefined) {
    const reason = 'Chromium not available, install it or set LINKTRAIL_TEST_CHROMIUM to its path';
    test(`${name} in Chromium`, process.env.LINKTRAIL_REQUIRE_ENGINES === '1' ? {} : { skip: reason }, () => {
      throw new Error(reason);
    });
    return;
  }
  describe(`${name} in Chromium`, () => {
    let browser: Promise<Browser> | undefined;
    after(async () => (await browser)?.close());
    suite(() => {
      // Its sandbox does not work for root.
      const chromiumSandbox = process.getuid?.() !== 0;
      browser ??= chromium.launch({ executablePath, chromiumSandbox, args: FLAGS });
      return browser;
    });
  });
}

function isProgram(path: string | undefined): path is string {
  if (!path) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
