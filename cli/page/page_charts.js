'use strict';
// Charts, from the JSON in the page to plotly's. Drawn when the library has been read: sextantDrawCharts().

// Okabe and Ito's colours, which those who do not see red or green tell apart as well, and tints of them.
const cycle = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8a7a00', '#7a6fd0', '#6b7785', '#b0468c'];
const roles = {
  gemm: '#0072b2', attention: '#56b4e9', 'memory-bound': '#a6d3f2', host: '#5d7894', recompute: '#7a6fd0',
  tp: '#e69f00', cp: '#f0c75e', ep: '#d55e00', pp: '#b98b5c', dp: '#cc79a7', bubble: '#b9c0c8', optimizer: '#009e73',
  offload: '#8a7a00', reference: '#b0468c', fixed: '#7f8a96',
  forward: '#0072b2', backward: '#56b4e9', 'weight half': '#a6d3f2', idle: '#d5dae0',
  weights: '#0072b2', gradients: '#56b4e9', activations: '#e69f00', logits: '#f0c75e', buffers: '#cc79a7',
  workspaces: '#b98b5c', slack: '#b9c0c8', overhead: '#7f8a96', cache: '#009e73',
  compute: '#0072b2', waiting: '#b9c0c8', measured: '#e69f00', predicted: '#0072b2', best: '#d55e00', quiet: '#7f8a96',
};

// Plotly reads tags and entities in any text: names from files are shown as they are.
const plain = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const narrow = () => window.innerWidth < 700;
const printing = {now: false, width: 690};

function theme() {
  if (printing.now) return {text: '#1b1f24', quiet: '#5b6570', line: '#dfe3e8', card: '#f6f7f9', ground: '#ffffff'};
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {text: of('--text'), quiet: of('--quiet'), line: of('--line'), card: of('--card'), ground: of('--ground')};
}

// Labels at 1, 2 and 5, or at every digit, where an axis spans few decades.
function decadesTicks(values, room) {
  const positive = values.filter((value) => value > 0);
  const high = positive.reduce((a, b) => Math.max(a, b), 0);
  const low = positive.reduce((a, b) => Math.min(a, b), Infinity);
  const format = high < 1e6 && low > 1e-4 ? {tickformat: '~g'} : {exponentformat: 'power'};
  if (high / low < 5) return {...format, nticks: 6};
  if (Math.log10(high / low) < room / 150) return {...format, dtick: 'D2'};
  return Math.log10(high / low) < room / 40 ? {...format, dtick: 1} : format;
}

function axisOf(axis, colours, values, room) {
  const out = {
    title: {text: plain(axis.title), standoff: 8, font: {size: 12.5, color: colours.quiet}},
    gridcolor: colours.line, zeroline: false, linecolor: colours.line, automargin: true, tickfont: {size: 11.5, color: colours.quiet},
  };
  if (axis.log)
    Object.assign(out, {type: 'log', minorloglabels: 'complete', minor: {gridcolor: 'rgba(0,0,0,0)'}},
      decadesTicks(values || [], room || 320));
  if (axis.zero) out.rangemode = 'tozero';
  return out;
}

function baseLayout(colours, height) {
  return {
    height, autosize: true, paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    margin: {l: 56, r: 14, t: 10, b: 44}, font: {family: 'system-ui, sans-serif', size: 12.5, color: colours.text},
    hoverlabel: {bgcolor: colours.card, bordercolor: colours.line, font: {color: colours.text}, namelength: -1, align: 'left'},
    legend: {orientation: 'h', x: 0, xanchor: 'left', y: 1, yanchor: 'bottom', font: {size: 12}, tracegroupgap: 2},
    modebar: {bgcolor: 'rgba(0,0,0,0)', color: colours.quiet, activecolor: colours.text},
    dragmode: window.matchMedia('(pointer: coarse)').matches ? false : 'zoom', hovermode: 'closest', barmode: 'stack',
  };
}

// Rows that a legend takes in so much room: its columns are as wide as its longest name.
function legendRows(names, width) {
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  return Math.ceil(names.length / Math.max(1, Math.floor(width / (52 + 6.6 * longest))));
}

// The legend at the foot of the chart, whose top right is the place of the buttons for zooming.
function legendBelow(layout, names, width) {
  const rows = legendRows(names, width);
  layout.margin.b = 50 + 20 * rows;
  layout.margin.t = 30;
  layout.height += 20 * rows + 20;
  Object.assign(layout.legend, {yref: 'container', y: 0, yanchor: 'bottom'});
}

// Names of upright lines stand above the chart, or within it where the top is the buttons'.
function addMarks(layout, marks, colours, above) {
  layout.shapes = [];
  layout.annotations = layout.annotations || [];
  for (const mark of marks || []) {
    const upright = mark.across === 'x';
    const logarithmic = layout[upright ? 'xaxis' : 'yaxis'].type === 'log';
    const line = {color: colours.text, width: 1.5, dash: 'dash'};
    layout.shapes.push(upright ? {type: 'line', x0: mark.at, x1: mark.at, y0: 0, y1: 1, yref: 'paper', line}
      : {type: 'line', y0: mark.at, y1: mark.at, x0: 0, x1: 1, xref: 'paper', line});
    const place = logarithmic ? Math.log10(mark.at) : mark.at;
    const note = {text: plain(mark.label), showarrow: false, font: {size: 11.5, color: colours.text}, bgcolor: colours.ground, opacity: 0.92};
    layout.annotations.push(upright ? {...note, x: place, y: 1, yref: 'paper',
      ...(above ? {yanchor: 'bottom', xanchor: 'center'} : {yanchor: 'top', xanchor: 'right', xshift: -3})}
      : {...note, y: place, x: 1, xref: 'paper', xanchor: 'right', yanchor: 'bottom'});
  }
}

// Words that all names have, where one of them is too long: what is left tells them apart.
function commonWords(names, most) {
  if (names.length < 2 || !names.some((name) => name.length > most)) return [];
  const words = names.map((name) => name.split(' '));
  return words[0].filter((word) => /[a-z0-9]{3}/.test(word) && words.every((list) => list.includes(word)));
}

function barChart(chart, colours, width) {
  const most = narrow() ? 18 : printing.now ? 26 : 44;
  const common = commonWords(chart.categories, most);
  const shorten = (whole) => {
    const name = whole.split(' ').filter((word) => !common.includes(word)).join(' ');
    return plain(name.length > most ? name.slice(0, most - 1) + '\u2026' : name);
  };
  const places = chart.categories.map((_, i) => i);
  const data = chart.series.map((series, i) => ({
    type: 'bar', orientation: 'h', name: plain(series.name), y: places, x: series.values,
    marker: {color: roles[series.role] || cycle[i % cycle.length], line: {width: 0.5, color: colours.ground}},
    customdata: chart.categories.map(plain),
    hovertemplate: `%{customdata}<br>${plain(series.name)}: <b>%{x:.4~g}</b> ${plain(chart.x.title)}<extra></extra>`,
  }));
  // The legend stands above the bars and is as wide as they are: beside the names of the rows.
  const names = chart.categories.map(shorten);
  const beside = 20 + 6.6 * names.reduce((most, name) => Math.max(most, name.length), 0);
  const rows = legendRows(chart.series.map((series) => series.name), width - beside);
  const layout = baseLayout(colours, Math.max(150, 76 + chart.categories.length * (printing.now ? 18 : chart.categories.length > 12 ? 22 : 28)) + 20 * rows);
  layout.legend.maxheight = 20 * rows + 20;  // in pixels; its own limit is half of the chart, and it scrolls beyond that
  const alike = common.length ? {...chart.x, title: `${chart.x.title}; in all: ${common.join(' ')}`} : chart.x;
  layout.xaxis = axisOf(alike, colours);
  layout.yaxis = {automargin: true, autorange: 'reversed', tickvals: places, ticktext: names,
    tickfont: {size: 11.5, color: colours.text}, fixedrange: true};
  layout.bargap = 0.28;
  layout.legend.traceorder = 'normal';
  if (chart.marks.length) layout.legend.y = 1 + 20 / Math.max(40, layout.height - 74 - 20 * rows);
  addMarks(layout, chart.marks, colours, true);
  return {data, layout};
}

function intervalOf(values, low, high) {
  if (!low) return undefined;
  return {type: 'data', symmetric: false, array: high.map((h, i) => h - values[i]), arrayminus: low.map((l, i) => values[i] - l),
    thickness: 1.3, width: 3};
}

// `edge` is a colour that keeps points apart from a coloured ground.
function pointTraces(seriesList, chart, edge) {
  return seriesList.map((series, i) => {
    const colour = roles[series.role] || cycle[i % cycle.length];
    const drawn = series.draw;
    const many = series.x.length > 400;
    const labels = series.labels ? '%{text}<br>' : '';
    return {
      type: 'scatter', name: plain(series.name), x: series.x, y: series.y,
      mode: drawn === 'markers' ? 'markers' : drawn === 'both' ? 'lines+markers' : 'lines',
      text: series.labels ? series.labels.map(plain) : undefined,
      line: {color: colour, width: 2, dash: drawn === 'dashed' ? 'dash' : drawn === 'dotted' ? 'dot' : 'solid',
        shape: drawn === 'steps' ? 'hv' : 'linear'},
      marker: {color: colour, size: series.large ? 12 : many ? 5 : 7, opacity: many ? 0.55 : 0.9,
        symbol: series.large ? 'diamond' : 'circle', line: {width: series.large ? 1.5 : edge ? 1 : 0, color: edge || '#ffffff'}},
      error_y: intervalOf(series.y, series.low, series.high), error_x: intervalOf(series.x, series.left, series.right),
      hovertemplate: `${labels}${plain(chart.x.title)}: <b>%{x:.4~g}</b><br>${plain(chart.y.title)}: <b>%{y:.4~g}</b>`
        + `<extra>${plain(series.name)}</extra>`,
    };
  });
}

function pointChart(chart, colours, width) {
  const layout = baseLayout(colours, printing.now ? 280 : 340);
  layout.xaxis = axisOf(chart.x, colours, chart.series.flatMap((series) => series.x), width - 70);
  layout.yaxis = axisOf(chart.y, colours, chart.series.flatMap((series) => series.y));
  layout.showlegend = chart.series.length > 1;
  legendBelow(layout, layout.showlegend ? chart.series.map((series) => series.name) : [], width);
  if (chart.same) {
    const all = chart.series.flatMap((series) => [...series.x, ...series.y]).filter((value) => value > 0);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity);
    const high = all.reduce((a, b) => Math.max(a, b), 0);
    layout.xaxis.range = [Math.log10(low) - 0.1, Math.log10(high) + 0.1];
    layout.yaxis.range = layout.xaxis.range.slice();
  }
  if ((chart.marks || []).some((mark) => mark.across === 'x')) layout.yaxis.domain = [0, 0.92]; // their labels stand above the points
  addMarks(layout, chart.marks, colours);
  return {data: pointTraces(chart.series, chart), layout};
}

function surfaceChart(chart, colours, width) {
  const dark = window.matchMedia('(prefers-color-scheme: dark)').matches && !printing.now;
  const layout = baseLayout(colours, narrow() || printing.now ? 400 : 520);
  legendBelow(layout, chart.series.map((series) => series.name), width);
  const data = [{
    type: 'contour', x: chart.gx, y: chart.gy, z: chart.gz, name: plain(chart.z_title), ncontours: 24, showscale: true,
    colorscale: 'Cividis', reversescale: !dark, opacity: 0.75, line: {width: 0.8, color: colours.ground},
    contours: {coloring: 'heatmap', showlabels: true, labelfont: {size: 11, color: dark ? '#ffffff' : '#10202f'}},
    colorbar: {title: {text: plain(chart.z_title), side: 'right'}, thickness: 12, outlinewidth: 0, len: 0.9},
    hovertemplate: `${plain(chart.x.title)}: <b>%{x:.4~g}</b><br>${plain(chart.y.title)}: <b>%{y:.4~g}</b><br>`
      + `${plain(chart.z_title)}: <b>%{z:.4~g}</b><extra></extra>`,
  }, ...pointTraces(chart.series, chart, dark ? '#ffffff' : '#10202f')];
  layout.xaxis = axisOf(chart.x, colours, chart.gx, width - 140);
  layout.yaxis = axisOf(chart.y, colours, chart.gy, layout.height - 120);
  layout.xaxis.range = [Math.log10(chart.gx[0]), Math.log10(chart.gx[chart.gx.length - 1])];
  layout.yaxis.range = [Math.log10(chart.gy[0]), Math.log10(chart.gy[chart.gy.length - 1])];
  return {data, layout};
}

// Names of slots are drawn where there is room for them in what is in view now.
function slotNames(series, range, width) {
  const shown = range[1] - range[0];
  return series.label.map((label, i) => {
    const inside = series.start[i] < range[1] && series.start[i] + series.length[i] > range[0];
    return inside && (series.length[i] / shown) * width > 7 * label.length + 5 ? plain(label) : '';
  });
}

// Slots have an edge where they are wide enough to keep their colour beside it.
function slotEdge(series, range, width) {
  const mean = series.length.reduce((a, b) => a + b, 0) / series.length.length;
  return !series.within && (mean / (range[1] - range[0])) * width > 5 ? 0.6 : 0;
}

function timelineChart(chart, colours, width) {
  const end = Math.max(...chart.series.flatMap((series) => series.start.map((start, i) => start + series.length[i])));
  const layout = baseLayout(colours, 80 + (printing.now ? 20 : chart.rows.length > 12 ? 26 : 34) * Math.max(3, chart.rows.length));
  legendBelow(layout, chart.series.map((series) => series.name), width);
  const data = chart.series.map((series, i) => ({
    type: 'bar', orientation: 'h', name: plain(series.name), base: series.start, x: series.length,
    y: series.within ? series.row.map((row) => row + 0.31) : series.row, width: series.within ? 0.2 : 0.86,
    marker: {color: roles[series.role] || cycle[i % cycle.length], line: {width: slotEdge(series, [0, end], width - 100), color: colours.ground}},
    text: series.within ? undefined : slotNames(series, [0, end], width - 100), textposition: 'inside', insidetextanchor: 'middle', textangle: 0,
    constraintext: 'none', textfont: {size: 10.5}, customdata: series.label.map(plain), cliponaxis: true,
    hovertemplate: `${plain(series.name)} %{customdata}<br>from <b>%{base:.5~g}</b>, for <b>%{x:.4~g}</b> ${plain(chart.x.title)}<extra></extra>`,
  }));
  layout.barmode = 'overlay';
  layout.xaxis = {...axisOf(chart.x, colours), range: [0, end], minallowed: 0, maxallowed: end};
  layout.yaxis = {automargin: true, autorange: 'reversed', tickvals: chart.rows.map((_, i) => i), ticktext: chart.rows.map(plain),
    fixedrange: true, tickfont: {size: 11.5, color: colours.text}, gridcolor: 'rgba(0,0,0,0)'};
  return {data, layout, zoomed: (plot) => {
    const range = plot.layout.xaxis.range;
    const named = chart.series.map((series, i) => i).filter((i) => !chart.series[i].within);
    const room = plot.querySelector('.nsewdrag').getBoundingClientRect().width;
    const names = named.map((i) => slotNames(chart.series[i], range, room));
    Plotly.restyle(plot, {text: names, 'marker.line.width': named.map((i) => slotEdge(chart.series[i], range, room))}, named);
  }};
}

const drawers = {bars: barChart, points: pointChart, surface: surfaceChart, timeline: timelineChart};

function drawChart(plot) {
  const chart = JSON.parse(document.getElementById(plot.id.replace('chart', 'data')).textContent);
  const width = printing.now ? printing.width : plot.clientWidth;
  const made = drawers[chart.kind](chart, theme(), width);
  const settings = {responsive: true, displaylogo: false, scrollZoom: false,
    displayModeBar: chart.kind === 'bars' ? false : chart.kind === 'timeline' ? true : 'hover',
    modeBarButtons: [['toImage'], ['zoom2d', 'pan2d'], ['zoomIn2d', 'zoomOut2d', 'resetScale2d']], toImageButtonOptions: {filename: plot.id}};
  if (printing.now) made.layout.width = width;
  Plotly.react(plot, made.data, made.layout, settings);
  if (made.zoomed && !plot.dataset.listens) {
    plot.dataset.listens = '1';
    plot.on('plotly_relayout', (change) => {
      if (Object.keys(change).some((key) => key.startsWith('xaxis'))) made.zoomed(plot);
    });
  }
}

// One after the other, so that the page answers in between.
function sextantDrawCharts() {
  const plots = Array.from(document.querySelectorAll('.plot'));
  const draw = (plot) => {
    try {
      drawChart(plot);
    } catch (problem) {  // the others can still be drawn
      console.error(problem);
      plot.textContent = 'This chart could not be drawn.';
    }
  };
  const redraw = () => plots.forEach(draw);
  const next = (i) => {
    if (i === plots.length) {
      window.sextantChartsReady = performance.now();
      return;
    }
    draw(plots[i]);
    setTimeout(next, 0, i + 1);
  };
  next(0);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  window.addEventListener('beforeprint', () => { printing.now = true; redraw(); });
  window.addEventListener('afterprint', () => { printing.now = false; redraw(); });
}
