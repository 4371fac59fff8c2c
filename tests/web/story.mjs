// A story told in a browser against a real server: checks in order, each of which needs what those before it did.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch, picture, watchedPage } from './browser.mjs';
import { Service } from './service.mjs';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const minutes = 60_000;
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

export class Story {
  service = null;
  browser = null;
  view = null; // the page, watched for misdeeds
  #checks = 0;
  #stories = 0;
  #broken = ''; // the check that failed: those after it would only wait for what it did not do

  constructor() {
    before(
      async () => {
        this.service = new Service();
        this.browser = await launch();
        await this.service.startServer();
        this.view = await watchedPage(this.browser, { viewport: { width: 1280, height: 900 } });
      },
      { timeout: minutes },
    );
    after(async () => {
      if (this.#checks < this.#stories) console.error(this.service?.report());
      else console.log(`${this.#checks} checks passed`);
      await this.browser?.close();
      await this.service?.close();
    });
  }

  // One check in the order of the story.
  check(what, body, timeout = 2 * minutes) {
    this.#stories += 1;
    test(what, { timeout }, async () => {
      assert.equal(this.#broken, '', 'an earlier check failed');
      this.#broken = what;
      await body(this.view.page);
      assert.deepEqual(this.view.misdeeds, []);
      this.#broken = '';
      this.#checks += 1;
    });
  }

  shows(selector, text, timeout = 30_000) {
    return this.view.page.locator(selector, { hasText: text }).first().waitFor({ timeout });
  }
  button(text) {
    return this.view.page.getByRole('button', { name: text, exact: true });
  }
  inDialog(text) {
    return this.view.page.locator('dialog').getByRole('button', { name: text });
  }

  // Pages in a window of this width and theme: nothing is wider than the window, and everything is accessible.
  async fits(width, colorScheme, pages) {
    const options = { viewport: { width, height: 844 }, colorScheme, reducedMotion: 'reduce' };
    const { page, context, misdeeds } = await watchedPage(this.browser, options);
    for (const { title, path, sights } of pages) {
      await page.goto(this.service.url + path);
      for (const sight of sights) await page.locator(sight).first().waitFor({ timeout: 30_000 });
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(beyond <= 0, `${path} is ${beyond} pixels wider than a ${width} pixel window`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate((runOnly) => window.axe.run(document, { runOnly }), rules);
      assert.deepEqual(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`),
        [],
        `${path}, ${width}, ${colorScheme}`,
      );
      await picture(page, `${title}-${width}-${colorScheme}`);
    }
    assert.deepEqual(misdeeds, []);
    await context.close();
  }
}
