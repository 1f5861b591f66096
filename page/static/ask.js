// Questions of the page in a dialog of its own, in place of the browser's, which looks like none of it and stops all scripts.

/**
 * Resolves with true, or with what was written where `field` names a field; with null when the person keeps things as they are.
 */
export function ask({ title, text = '', label, keep = 'Cancel', field, isBad = false }) {
  const dialog = document.createElement('dialog');
  const form = document.createElement('form');
  const heading = document.createElement('h2');
  const buttons = document.createElement('div');
  const [no, yes] = [document.createElement('button'), document.createElement('button')];
  form.method = 'dialog';
  heading.id = 'ask-title';
  heading.textContent = title;
  dialog.className = 'ask';
  dialog.setAttribute('aria-labelledby', heading.id);
  buttons.className = 'buttons';
  no.type = 'button';
  no.textContent = keep;
  no.addEventListener('click', () => dialog.close());
  yes.className = isBad ? 'bad' : 'first';
  yes.value = 'yes';
  yes.textContent = label;
  buttons.append(no, yes);
  form.append(heading);
  if (text !== '') form.append(paragraph(text));
  const input = field === undefined ? null : addField(form, field);
  form.append(buttons);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      const isYes = dialog.returnValue === 'yes';
      dialog.remove();
      resolve(isYes ? (input?.value.trim() ?? true) : null);
    });
    dialog.showModal();
    (input ?? (isBad ? no : yes)).focus();
  });
}

function paragraph(text) {
  const line = document.createElement('p');
  line.textContent = text;
  return line;
}

function addField(form, name) {
  const [label, words, input] = ['label', 'span', 'input'].map((tag) => document.createElement(tag));
  words.textContent = name;
  input.required = true;
  input.autocomplete = 'off';
  input.maxLength = 200;
  label.append(words, input);
  form.append(label);
  return input;
}
