// Tags and the note of an experiment or trial, shown below its heading, and the dialog that changes them.
import { useState } from 'preact/hooks';
import { Confirm } from '@/shared/ui/dialog';
import { PermittedButton } from '@/shared/ui/permitted';
import { type Annotated, annotate, tagsOf, type Written } from './data';
import './annotations.css';

export const Tags = ({ tags }: { tags: readonly string[] }) =>
  tags.length === 0 ? null : (
    <span class="tag-list">
      {tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
    </span>
  );

function Editor({
  whose,
  written,
  after,
  close,
}: {
  whose: Annotated;
  written: Written;
  after: () => void;
  close: () => void;
}) {
  const [tags, setTags] = useState(written.tags.join(' '));
  const [note, setNote] = useState(written.note);
  return (
    <Confirm
      title="Tags and note"
      action="Save"
      text={
        <div class="annotation-form">
          <label class="field">
            Tags
            <input
              type="text"
              class="input"
              value={tags}
              spellcheck={false}
              placeholder="paper baseline"
              onInput={(event) => setTags(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            Note
            <textarea
              class="input"
              value={note}
              maxLength={4000}
              onInput={(event) => setNote(event.currentTarget.value)}
            />
          </label>
        </div>
      }
      run={async () => {
        await annotate(whose, written, { tags: tagsOf(tags), note: note.trim() });
        after();
      }}
      close={close}
    />
  );
}

export function Annotations({
  whose,
  written,
  owner,
  after,
}: {
  whose: Annotated;
  written: Written;
  owner: string | undefined; // of the experiment; undefined while it is not known
  after: () => void; // something was saved
}) {
  const [open, setOpen] = useState(false);
  const { tags, note } = written;
  return (
    <div class="annotations">
      <Tags tags={tags} />
      <PermittedButton need="submitter" owner={owner} onClick={() => setOpen(true)}>
        {tags.length === 0 && note === '' ? 'Add tags or a note' : 'Edit tags and note'}
      </PermittedButton>
      {note !== '' && <p class="note">{note}</p>}
      {open && <Editor whose={whose} written={written} after={after} close={() => setOpen(false)} />}
    </div>
  );
}
