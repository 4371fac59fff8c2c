// Types of the fixture for the tests.
export function alibiPicture(side?: number, heads?: number): Record<string, unknown>;
