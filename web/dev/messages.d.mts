// Types of the generator for the tests.
export const documentFile: string;
export const messagesFile: string;
export function messagesOf(document: unknown): string;
