// How the search ranks pages. What users read comes before why it was built so. Of two names, the one with fewer parts
// comes first: funcgrad.jit before funcgrad.jax.jit. Modules come after functions, because "grad" is a part of each
// module's name. The rest are Sphinx's own numbers.
const weight = (page, title, anchor) => {
  if (/^(decisions|project|design)\b/.test(page)) return -20;
  if (/^(guides|start|learn)\//.test(page)) return 5;
  if (/^#module-/.test(anchor)) return -7;
  return /^funcgrad\./.test(title) ? 3 - title.split(".").length : 0;
};

var Scorer = {
  score: ([page, title, anchor, , score]) => score + weight(page, title, anchor),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
