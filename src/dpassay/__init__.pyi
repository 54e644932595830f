"""The public names, once: `__init__.py` reads here where each is defined; type checkers and editors read the same."""

from dpassay.accounting.checking import check_accounting as check_accounting
from dpassay.accounting.checking import check_noise as check_noise
from dpassay.auditors.audit import Audit as Audit
from dpassay.auditors.audit import audit as audit
from dpassay.auditors.audit import run_audit as run_audit
from dpassay.auditors.exact import ExactLoss as ExactLoss
from dpassay.auditors.exact import exact as exact
from dpassay.auditors.ledger import Ledger as Ledger
from dpassay.auditors.search import search as search
from dpassay.auditors.stability import check_stability as check_stability
from dpassay.core.certificate import Certificate as Certificate
from dpassay.core.claims import Claim as Claim
from dpassay.core.claims import Evidence as Evidence
from dpassay.core.claims import Verdict as Verdict
from dpassay.core.errors import InvalidInput as InvalidInput
from dpassay.core.privacy import NeighboringRelation as NeighboringRelation
from dpassay.core.privacy import PrivacyClaim as PrivacyClaim
from dpassay.core.privacy import Witness as Witness
from dpassay.core.protocol import CallableMechanism as CallableMechanism
from dpassay.core.protocol import FiniteMechanism as FiniteMechanism
from dpassay.core.protocol import Mechanism as Mechanism
from dpassay.core.protocol import from_callable as from_callable
from dpassay.core.version import __version__ as __version__
from dpassay.data.rating_files import load_ratings as load_ratings
from dpassay.data.ratings import Ratings as Ratings
from dpassay.data.ratings import synthetic as synthetic
from dpassay.judging.verification import verify as verify
from dpassay.mechanisms import mechanism as mechanism
from dpassay.mechanisms import mechanisms as mechanisms
from dpassay.prover.problem import mechanism_function as mechanism_function
from dpassay.prover.proving import Proof as Proof
from dpassay.prover.proving import prove as prove
from dpassay.prover.proving import run_proof as run_proof
from dpassay.prover.sensitivity.deciding import Sensitivity as Sensitivity
from dpassay.prover.sensitivity.deciding import sensitivity as sensitivity
from dpassay.replay import Replay as Replay
from dpassay.replay import replay as replay
from dpassay.scanning.running import Scan as Scan
from dpassay.scanning.running import scan as scan

__all__: list[str]
