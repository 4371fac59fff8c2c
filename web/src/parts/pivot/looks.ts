import type { PaperTable } from '@/shared/api/messages';
import { apart } from '@/shared/palette';

// How each row looks, rows of equal looks (another factor's values, other experiments) set apart.
export const rowLooks = (table: Pick<PaperTable, 'rows'>) => apart(table.rows.map((row) => row.look));
