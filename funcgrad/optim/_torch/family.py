"""The optimizers generated from the rules: states, pairs of functions, and PyTorch's classes."""

from funcgrad._public import published_as
from funcgrad.optim._rules.adadelta import ADADELTA
from funcgrad.optim._rules.adagrad import ADAGRAD
from funcgrad.optim._rules.adam import ADAM, ADAMW
from funcgrad.optim._rules.adamax import ADAMAX
from funcgrad.optim._rules.asgd import ASGD
from funcgrad.optim._rules.lion import LION
from funcgrad.optim._rules.muon import MUON
from funcgrad.optim._rules.nadam import NADAM
from funcgrad.optim._rules.radam import RADAM
from funcgrad.optim._rules.rmsprop import RMSPROP
from funcgrad.optim._rules.rprop import RPROP
from funcgrad.optim._rules.sgd import SGD_RULE
from funcgrad.optim._rules.sparse_adam import SPARSE_ADAM
from funcgrad.optim._torch.declare import optimizer

AdadeltaState, adadelta_init, adadelta_update, Adadelta = optimizer(ADADELTA)
AdagradState, adagrad_init, adagrad_update, Adagrad = optimizer(ADAGRAD)
AdamState, adam_init, adam_update, Adam = optimizer(ADAM)
AdamaxState, adamax_init, adamax_update, Adamax = optimizer(ADAMAX)
AdamWState, adamw_init, adamw_update, AdamW = optimizer(ADAMW, base=Adam)
ASGDState, asgd_init, asgd_update, ASGD = optimizer(ASGD)
LionState, lion_init, lion_update, Lion = optimizer(LION)
MuonState, muon_init, muon_update, Muon = optimizer(MUON)
NAdamState, nadam_init, nadam_update, NAdam = optimizer(NADAM)
RAdamState, radam_init, radam_update, RAdam = optimizer(RADAM)
RMSpropState, rmsprop_init, rmsprop_update, RMSprop = optimizer(RMSPROP)
RpropState, rprop_init, rprop_update, Rprop = optimizer(RPROP)
SGDState, sgd_init, sgd_update, SGD = optimizer(SGD_RULE)
SparseAdamState, sparse_adam_init, sparse_adam_update, SparseAdam = optimizer(SPARSE_ADAM)

published_as("funcgrad")(SGDState)
