// What tests of pages share.
import { act } from 'preact/test-utils';

// Answers and what they draw are let through until it holds: turns are counted, not time.
export async function drawn(holds: () => void) {
  for (let turn = 0; turn < 200; turn += 1) {
    await act(() => new Promise<void>((next) => setTimeout(next)));
    try {
      return holds();
    } catch {
      // another turn
    }
  }
  return holds();
}
