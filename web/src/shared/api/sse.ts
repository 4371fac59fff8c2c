// Server-sent events, the text format: bytes in any pieces in, events and signs of life out.

export interface ServerSentEvent {
  id: string | null; // null: the event carried none
  event: string;
  data: string;
}

// Feeds on decoded text; calls back for each complete event. Comments only show life, which the caller sees
// by the bytes.
export class EventParser {
  private buffer = '';
  private id: string | null = null;
  private event = '';
  private data: string[] = [];

  constructor(private readonly emit: (event: ServerSentEvent) => void) {}

  push(chunk: string): void {
    this.buffer += chunk;
    for (;;) {
      const end = this.buffer.search(/[\r\n]/);
      if (end < 0) return;
      if (this.buffer[end] === '\r' && end + 1 === this.buffer.length) return; // perhaps half of \r\n
      const width = this.buffer[end] === '\r' && this.buffer[end + 1] === '\n' ? 2 : 1;
      const line = this.buffer.slice(0, end);
      this.buffer = this.buffer.slice(end + width);
      this.line(line);
    }
  }

  private line(line: string): void {
    if (line === '') return this.dispatch();
    if (line.startsWith(':')) return;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id') this.id = value;
  }

  private dispatch(): void {
    if (this.data.length > 0)
      this.emit({ id: this.id, event: this.event || 'message', data: this.data.join('\n') });
    this.id = null;
    this.event = '';
    this.data = [];
  }
}
