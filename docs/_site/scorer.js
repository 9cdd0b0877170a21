// How the search ranks pages: what users read comes before why it was built so. The rest are Sphinx's own numbers.
var Scorer = {
  score: ([page, , , , score]) => (/^(decisions|project)\//.test(page) ? score - 20 : /^(guides|start|learn)\//.test(page) ? score + 5 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
