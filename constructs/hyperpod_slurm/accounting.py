"""Where Slurm keeps its accounts: job history, associations, fair share, quality of service.

By default slurmdbd has a database on the controller, which goes with the controller. A database of its own outlives
controllers and clusters. HyperPod cannot go back from it to the controller's. It needs continuous provisioning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from ._nag import acknowledge
from .network import ClusterNetwork

if TYPE_CHECKING:
    from aws_cdk import aws_rds as rds

__all__ = ["Accounting", "AccountingDatabase", "ExistingDatabase", "NewDatabase"]

_PORT = 3306
# What slurmdbd asks of its database (Slurm's accounting guide, "MySQL Configuration").
_PARAMETERS = {"innodb_lock_wait_timeout": "900", "max_allowed_packet": "16777216"}


@dataclass(frozen=True, kw_only=True)
class AccountingDatabase:
    """A database that slurmdbd can use."""

    endpoint: str
    secret: secretsmanager.ISecret
    port: int = _PORT
    database_name: str | None = None


class Accounting(Protocol):
    """A database that exists (``ExistingDatabase``), or one to be made (``NewDatabase``)."""

    def bind(self, scope: Construct, network: ClusterNetwork) -> AccountingDatabase:
        """Make what is to be made in ``scope``, reachable from ``network``."""
        ...


@dataclass(frozen=True, kw_only=True)
class ExistingDatabase:
    """A MySQL-compatible database that you run. Its security group must let the nodes in."""

    endpoint: str
    """Host name, without port."""

    secret: secretsmanager.ISecret
    """JSON with ``username`` and ``password``, of a user that may create the schema. The controller gets to read it."""

    port: int = _PORT
    database_name: str | None = None
    """Default: HyperPod's choice, ``slurm_acct_db_`` and the cluster's id. Clusters may share one database server."""

    def bind(self, scope: Construct, network: ClusterNetwork) -> AccountingDatabase:  # noqa: ARG002 - nothing to make
        return AccountingDatabase(
            endpoint=self.endpoint, secret=self.secret, port=self.port, database_name=self.database_name
        )


@dataclass(frozen=True, kw_only=True)
class NewDatabase:
    """A new MariaDB on RDS: encrypted, private, backed up, its password made by Secrets Manager."""

    instance_type: ec2.InstanceType = field(default_factory=lambda: ec2.InstanceType("t4g.medium"))
    engine_version: rds.MariaDbEngineVersion | None = None
    """Default: 11.4, MariaDB's long-term release; RDS updates it within 11.4."""

    storage_gib: int = 50
    """Grows by itself up to ten times as much."""

    multi_az: bool = False
    """A second instance takes over when the first fails. Jobs run on without accounting while it is away."""

    subnets: ec2.SubnetSelection | None = None
    """In at least two zones. Default: made in a new network; the private ones of a network that was brought."""

    encryption_key: kms.IKey | None = None
    """Default: the key that AWS manages for RDS."""

    deletion_protection: bool = True
    removal_policy: RemovalPolicy = RemovalPolicy.SNAPSHOT

    def bind(self, scope: Construct, network: ClusterNetwork) -> AccountingDatabase:
        from aws_cdk import aws_rds as rds  # here, because it would cost every synth 40 ms

        selection = self.subnets or network.database_subnets()
        _expect_two_subnets(network, selection)
        version = self.engine_version or rds.MariaDbEngineVersion.of("11.4.10", "11.4")
        engine = rds.DatabaseInstanceEngine.maria_db(version=version)
        instance = rds.DatabaseInstance(
            scope,
            "AccountingDatabase",
            engine=engine,
            instance_type=self.instance_type,
            allocated_storage=self.storage_gib,
            max_allocated_storage=10 * self.storage_gib,
            storage_type=rds.StorageType.GP3,
            storage_encrypted=True,
            storage_encryption_key=self.encryption_key,
            multi_az=self.multi_az,
            vpc=network.vpc,
            vpc_subnets=selection,
            credentials=rds.Credentials.from_generated_secret("slurm", encryption_key=self.encryption_key),
            parameters=_PARAMETERS,
            backup_retention=Duration.days(7),
            copy_tags_to_snapshot=True,
            auto_minor_version_upgrade=True,
            publicly_accessible=False,
            deletion_protection=self.deletion_protection,
            removal_policy=self.removal_policy,
        )
        instance.connections.allow_default_port_from(network, "slurmdbd on the controller")
        acknowledge(
            instance,
            {
                "AwsSolutions-SMG4": "HyperPod hands slurmdbd the password once: a rotation would stop accounting",
                "AwsSolutions-RDS3": "jobs run on while accounting pauses; multi_az=True is there for more",
                "AwsSolutions-RDS11": "the port is open to the nodes' security group only; 3306 is slurmdbd's default",
            },
        )
        secret = instance.secret
        assert secret is not None  # noqa: S101 - from_generated_secret makes one
        return AccountingDatabase(endpoint=instance.db_instance_endpoint_address, secret=secret)


def _expect_two_subnets(network: ClusterNetwork, selection: ec2.SubnetSelection) -> None:
    """RDS wants two zones even for one instance. Raises ValueError, because no template could be right."""
    subnets = list(selection.subnets or network.vpc.select_subnets(**selection._values).subnets)
    if len(subnets) < 2:
        raise ValueError(
            f"an accounting database needs subnets in at least two Availability Zones; got {len(subnets)}: "
            "give NewDatabase subnets of two zones"
        )
