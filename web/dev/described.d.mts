// Types of the description for the tests.
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
}
export const description: { components: { schemas: Record<string, Schema> } };
export function messageAt(method: string, path: string): string;
export function print(schema: Schema, value: unknown, path: string): unknown;
export function answerAs(method: string, path: string, value: unknown): unknown;
