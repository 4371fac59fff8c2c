// What jsdom lacks and the dashboard uses.
import { vi } from 'vitest';

class NoopResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

window.matchMedia ??= ((query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
  addListener: () => {},
  removeListener: () => {},
})) as unknown as typeof window.matchMedia;
window.ResizeObserver ??= NoopResizeObserver as unknown as typeof ResizeObserver;
window.scrollTo = () => {};

// jsdom lays nothing out; a scrolling box of some height lets the virtual table draw rows.
Object.defineProperty(HTMLElement.prototype, 'offsetHeight', { configurable: true, value: 600 });
Object.defineProperty(HTMLElement.prototype, 'offsetWidth', { configurable: true, value: 1000 });

// jsdom has no canvas. What is drawn is checked on the assembled data and in the browser test.
vi.mock('uplot', () => ({
  default: class {
    static paths = { linear: () => () => null };
    destroy() {}
    setData() {}
    setSize() {}
  },
}));

// jsdom has no modal dialogs; open and closed is what the tests need.
HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
  this.open = true;
};
HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
  this.open = false;
};
