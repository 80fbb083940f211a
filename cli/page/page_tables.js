'use strict';
// Tables that sort by a click on a header, and filter by words, conditions and choices. Works before the charts are there.

function cellValue(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.v !== undefined) {
    const value = Number(cell.dataset.v);
    return Number.isNaN(value) ? null : value;
  }
  const text = cell.textContent;
  if (text === '' || text === '-') return null;
  const plain = Number(text);
  return Number.isNaN(plain) ? text : plain;
}

// What is missing comes last whichever way one sorts; numbers come before words.
function compareValues(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === 'number' && typeof b === 'number') return direction * (a - b);
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return direction * a.localeCompare(b, undefined, {numeric: true});
}

function sortTable(table, column) {
  const header = table.tHead.rows[0].cells[column];
  const direction = header.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  header.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({row, value: cellValue(row, column)}));
  rows.sort((a, b) => compareValues(a.value, b.value, direction) || a.row.dataset.place - b.row.dataset.place);
  body.append(...rows.map((entry) => entry.row));
}

// "tp=8", "MFU>40", or a word that stands anywhere in the row. Numbers are compared as they are shown.
function conditionOf(word, headers) {
  const parts = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/.exec(word);
  const column = parts ? headers.indexOf(parts[1].toLowerCase()) : -1;
  if (column < 0) return (row) => row.textContent.toLowerCase().includes(word);
  const wanted = Number(parts[3]);
  const byNumber = {
    '<': (v) => v < wanted, '>': (v) => v > wanted, '<=': (v) => v <= wanted, '>=': (v) => v >= wanted,
    '=': (v) => v === wanted, '!=': (v) => v !== wanted,
  }[parts[2]];
  return (row) => {
    const text = row.cells[column].textContent.toLowerCase();
    const shown = parseFloat(text);
    if (!Number.isNaN(wanted) && !Number.isNaN(shown)) return byNumber(shown);
    return parts[2] === '!=' ? text !== parts[3] : parts[2] === '=' && text === parts[3];
  };
}

function labelled(text, control) {
  const label = document.createElement('label');
  label.append(text, control);
  return label;
}

function choiceFor(table, column) {
  const values = new Map();
  for (const row of table.tBodies[0].rows) values.set(row.cells[column].textContent, cellValue(row, column));
  if (values.size < 2 || values.size > 24) return null;
  const select = document.createElement('select');
  const ordered = Array.from(values).sort((a, b) => compareValues(a[1], b[1], 1));
  for (const text of ['any', ...ordered.map((entry) => entry[0])]) select.add(new Option(text, text));
  select.options[0].value = '';
  select.options[0].dataset.any = '1';
  return select;
}

function prepareTable(table) {
  const rows = Array.from(table.tBodies[0].rows);
  rows.forEach((row, place) => {
    row.dataset.place = place;
    for (const cell of row.cells) if (cell.textContent.length > 60) cell.className = 'long';
  });
  const headerCells = Array.from(table.tHead.rows[0].cells);
  const headers = headerCells.map((cell) => cell.textContent.toLowerCase().split(/[\s,]/)[0]);
  headerCells.forEach((cell, column) =>
    cell.firstElementChild.addEventListener('click', () => sortTable(table, column)));
  if (rows.length < 6) return;

  const controls = table.closest('section').querySelector('.controls');
  const search = document.createElement('input');
  search.type = 'search';
  const example = headers.find((name, column) => headerCells[column].className === 'n' && /^\S{2,}$/.test(name));
  search.placeholder = example ? `filter: words, ${example}=8, ${example}>4` : 'filter: words';
  search.setAttribute('aria-label', 'filter rows');
  const count = document.createElement('span');
  count.className = 'count';
  count.setAttribute('aria-live', 'polite');
  const choices = [];
  headerCells.forEach((cell, column) => {
    const select = cell.hasAttribute('data-choice') ? choiceFor(table, column) : null;
    if (select) choices.push({column, select, label: labelled(cell.textContent, select)});
  });
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const conditions = words.map((word) => conditionOf(word, headers));
    for (const {column, select} of choices)
      if (!select.selectedOptions[0].dataset.any)
        conditions.push((row) => row.cells[column].textContent === select.value);
    let shown = 0;
    for (const row of rows) {
      const keep = conditions.every((condition) => condition(row));
      row.hidden = !keep;
      shown += keep;
    }
    count.textContent = shown === rows.length ? `${rows.length.toLocaleString('en')} rows`
      : `${shown.toLocaleString('en')} of ${rows.length.toLocaleString('en')} rows`;
  };
  search.addEventListener('input', apply);
  for (const {select} of choices) select.addEventListener('change', apply);
  controls.append(search, ...choices.map((choice) => choice.label), count);
  controls.hidden = false;
  apply();
}

document.querySelectorAll('table.data').forEach(prepareTable);
window.sextantTablesReady = performance.now();
